// A pass over the protobuf wire format that takes long raw_data out of a message before protobuf parses the rest, and
// puts it back when the message is saved. Driven by the descriptors of the schema: every TensorProto.raw_data and
// StructProto.raw_data, wherever it is nested.
//
// A cut leaves a placeholder of 24 bytes (a fixed mark and an index) as raw_data. Data that has this form by accident
// or malice is itself cut, whatever its length, so that in a cut message a placeholder is never data.
// Source: the wire format as described in protobuf's Encoding page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"

namespace google::protobuf {
class Descriptor;
}

namespace tessera {

struct CutOptions {
  uint32_t message_depth = 1'000;
  uint64_t inline_bytes = 65'536;  // raw_data over this is cut
};

struct CutMessage {
  std::string skeleton;                        // what protobuf parses
  std::vector<std::span<const uint8_t>> cuts;  // by placeholder index; views of the input
  // Messages that set two members of a oneof, of which protobuf would keep the last in silence.
  std::vector<Error> conflicts;
};

// Checks the structure of a message of the given type and cuts it. Memory: the skeleton, and a few bytes for each
// message that holds a cut. Errors: kWireTruncated, kWireMalformed, kWireDepth, with the byte offset; kWireSize when
// the skeleton is over 2 GiB.
Result<CutMessage> Cut(std::span<const uint8_t> message, const google::protobuf::Descriptor* type,
                       const CutOptions& options);

// The placeholder for a cut, and the index that a raw_data of placeholder form names.
std::string Placeholder(uint64_t index);
std::optional<uint64_t> PlaceholderIndex(std::string_view raw_data);

// A message in pieces: `owned` bytes, then `data`, one after the other.
struct WireChunk {
  std::string owned;
  std::span<const uint8_t> data;
};

// The inverse of Cut: `skeleton` with each placeholder below cuts.size() replaced by its data.
Result<std::vector<WireChunk>> Splice(std::string_view skeleton, const google::protobuf::Descriptor* type,
                                      std::span<const std::span<const uint8_t>> cuts, uint32_t message_depth);

}  // namespace tessera
