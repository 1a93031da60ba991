#include "tessera/formats/ggml/block_type.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/formats/ggml/block_types_internal.h"

namespace tessera::ggml {
namespace {

using TypesOfFile = std::vector<BlockType> (*)();
constexpr TypesOfFile kFiles[] = {PlainTypes,      SmallTypes, FewBitTypes, MicroFloatTypes, KAffineTypes,
                                  KSymmetricTypes, Iq1Types,   Iq2Types,    Iq3Types,        Iq4Types};

constexpr std::string_view kBeforeGguf = "it was dropped before GGUF files existed";
constexpr std::string_view kRepacked =
    "it interleaved rows of the plain type for one processor and was dropped in 2024; quantize the model again";
constexpr RemovedBlockType kRemoved[] = {
    {4, "q4_2", kBeforeGguf},      {5, "q4_3", kBeforeGguf},      {31, "q4_0_4_4", kRepacked},
    {32, "q4_0_4_8", kRepacked},   {33, "q4_0_8_8", kRepacked},   {36, "iq4_nl_4_4", kRepacked},
    {37, "iq4_nl_4_8", kRepacked}, {38, "iq4_nl_8_8", kRepacked},
};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Number(uint64_t n) { return std::to_string(n); }

Error NotWholeBlocks(const BlockType& type, uint64_t values, std::string_view of_what) {
  const uint64_t block = static_cast<uint64_t>(type.block_values);
  const uint64_t below = values / block * block;
  std::string nearest = Number(below);
  if (const auto above = CheckedAdd(below, block)) nearest += " or " + Number(*above);
  return {
      ErrorCode::kArgument, std::string(type.name),
      std::string(of_what) + " of " + Number(values) + " values is not a whole number of blocks of " + Number(block),
      "the nearest sizes are " + nearest};
}

}  // namespace

std::span<const BlockType> AllBlockTypes() {
  static const std::vector<BlockType>* const types = [] {
    auto* all = new std::vector<BlockType>;
    for (TypesOfFile file : kFiles) {
      for (const BlockType& row : file()) all->push_back(row);
    }
    std::sort(all->begin(), all->end(), [](const BlockType& a, const BlockType& b) { return a.id < b.id; });
    return all;
  }();
  return *types;
}

const BlockType* FindBlockType(std::string_view name) {
  for (const BlockType& row : AllBlockTypes()) {
    if (std::equal(name.begin(), name.end(), row.name.begin(), row.name.end(),
                   [](char a, char b) { return Lower(a) == b; })) {
      return &row;
    }
  }
  return nullptr;
}

const BlockType* FindBlockType(int32_t id) {
  for (const BlockType& row : AllBlockTypes()) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

std::span<const RemovedBlockType> RemovedBlockTypes() { return kRemoved; }

Result<uint64_t> BlocksSize(const BlockType& type, uint64_t values) {
  const uint64_t block = static_cast<uint64_t>(type.block_values);
  if (values % block != 0) return tl::unexpected<Error>(NotWholeBlocks(type, values, "a tensor"));
  const auto bytes = CheckedMul(values / block, static_cast<uint64_t>(type.block_bytes));
  if (!bytes) {
    return Fail(ErrorCode::kArgument, std::string(type.name),
                "the size of " + Number(values) + " values does not fit into 64 bits");
  }
  return *bytes;
}

Result<void> DecodeBlocks(const BlockType& type, std::span<const uint8_t> bytes, std::span<float> values) {
  TESSERA_ASSIGN(const uint64_t size, BlocksSize(type, values.size()));
  if (bytes.size() != size) {
    return Fail(ErrorCode::kPayloadSize, std::string(type.name), "the payload has " + Number(bytes.size()) + " bytes",
                Number(values.size()) + " values take " + Number(size));
  }
  type.decode(bytes, values);
  return {};
}

Result<void> EncodeBlocks(const BlockType& type, std::span<const float> values, uint64_t row_values,
                          std::span<const float> weights, std::span<uint8_t> bytes) {
  const std::string where(type.name);
  if (row_values % static_cast<uint64_t>(type.block_values) != 0) {
    return tl::unexpected<Error>(NotWholeBlocks(type, row_values, "a row"));
  }
  if (row_values == 0 ? !values.empty() : values.size() % row_values != 0) {
    return Fail(ErrorCode::kArgument, where,
                Number(values.size()) + " values are not whole rows of " + Number(row_values));
  }
  TESSERA_ASSIGN(const uint64_t size, BlocksSize(type, values.size()));
  if (bytes.size() != size) {
    return Fail(ErrorCode::kArgument, where, "there is room for " + Number(bytes.size()) + " bytes",
                Number(values.size()) + " values take " + Number(size));
  }
  if (!weights.empty() && weights.size() != row_values) {
    return Fail(ErrorCode::kArgument, where,
                "there are " + Number(weights.size()) + " weights for rows of " + Number(row_values) + " values",
                "one for each column, or none");
  }
  for (size_t i = 0; i < values.size() && !type.has_specials; ++i) {
    if (std::isfinite(values[i])) continue;
    return Fail(ErrorCode::kEncodeValue, where,
                "value " + Number(i % row_values) + " of row " + Number(i / row_values) +
                    (std::isnan(values[i]) ? " is NaN" : " is infinite"),
                "the format has finite values only");
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i]) && weights[i] >= 0) continue;
    return Fail(ErrorCode::kEncodeValue, where, "weight " + Number(i) + " is " + std::to_string(weights[i]),
                "weights are finite and not negative");
  }
  const uint64_t rows = values.empty() ? 0 : values.size() / row_values;
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t row_bytes = size / rows;
    type.encode(values.subspan(row * row_values, row_values), weights, bytes.subspan(row * row_bytes, row_bytes));
  }
  return {};
}

}  // namespace tessera::ggml
