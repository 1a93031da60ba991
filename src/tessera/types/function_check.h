// Checks decoders and encoders against the contract: inputs, operators, types, outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/function.h"
#include "tessera/types/type_table.h"

namespace tessera {

// What a function returns: an element type and a concrete shape.
struct OutputSignature {
  std::string name;
  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;
};

// The output that a decoder or encoder declares in its value_info; nullopt if it is not declared as the contract
// demands (exactly one output, a value_info with element type and concrete shape).
std::optional<OutputSignature> DeclaredOutput(const Function& function);

// Checks a function's opset, nodes and the number of its outputs, for inputs of these types, and nothing of what it
// declares about them. A name that stands for two inputs is an error.
void CheckNodes(const Function& function, std::span<const ElementType> input_types, const Path& path,
                Problems* problems);

// Checks `decoder` as one that takes `leaves`.
void CheckDecoder(const Function& decoder, const std::vector<Leaf>& leaves, const Path& path, Problems* problems);

// Checks `encoder` as one that takes the decoder's output and returns UINT8[size_bytes]. `decoder` may be null: then
// the input's type is not known and only its number is checked.
void CheckEncoder(const Function& encoder, const Function* decoder, uint64_t size_bytes, const Path& path,
                  Problems* problems);

}  // namespace tessera
