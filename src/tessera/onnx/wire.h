// A pass over the protobuf wire format that takes long raw_data out of a message before protobuf parses the rest, and
// puts it back when the message is saved. Driven by the descriptors of the schema: every TensorProto.raw_data and
// StructProto.raw_data, wherever it is nested.
//
// A cut leaves a placeholder of 24 bytes as raw_data: a fixed mark, the number of the owner of the cut data (a model) and
// an index. Data that begins like one by accident or malice is itself cut, whatever its length, so that in a cut message
// a placeholder is never data; and one that was copied from another owner's message is found, not mistaken.
//
// Cutting and splicing gives the same bytes again, but for lengths that were not spelled as short as they can be.
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

// Deeper limits than this are not honoured: protobuf's parser, copies and destructors recurse.
inline constexpr uint32_t kMostMessageDepth = 2'000;

struct CutOptions {
  uint32_t message_depth = 1'000;  // at most kMostMessageDepth
  uint64_t inline_bytes = 65'536;  // raw_data over this is cut
  uint64_t owner = 0;              // who resolves the placeholders
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

struct Placeholder {
  uint64_t owner = 0;
  uint64_t index = 0;  // in the owner's cuts

  std::string Bytes() const;
  // nullopt if `raw_data` does not have the form of a placeholder.
  static std::optional<Placeholder> Parse(std::string_view raw_data);
};

// A message in pieces: `owned` bytes, then `data`, one after the other.
struct WireChunk {
  std::string owned;
  std::span<const uint8_t> data;
};

// The inverse of Cut: `skeleton` with each of the owner's placeholders replaced by its data.
// Errors: kWireSize when the result is over 2 GiB, protobuf's limit; kForeignData when a placeholder is not the owner's;
// those of Cut.
Result<std::vector<WireChunk>> Splice(std::string_view skeleton, const google::protobuf::Descriptor* type,
                                      std::span<const std::span<const uint8_t>> cuts, const CutOptions& options);

}  // namespace tessera
