// The block types of ggml (llama.cpp, GGUF files) and their scalar reference codecs: one row a type. A row of values
// is a sequence of blocks of `block_values` values in `block_bytes` bytes each; nothing is shared between blocks.
//
// Decoding gives the bits that ggml gives. Encoding follows ggml's searches, so that errors are those of its encoders,
// and adds rules for what ggml leaves open:
//
//   NaN and infinity   EncodeBlocks refuses them, unless the type has them (`has_specials`: F32, F64, F16, BF16). Who
//                      calls `encode` itself must have done so; there NaN counts as 0 and infinity as the largest
//                      float.
//   huge values        A scale beyond float16 becomes 65504 with its sign, and codes saturate, so that what was finite
//                      decodes to something finite. (ggml stores infinity, and the block decodes to infinities and
//                      NaN.)
//   tiny values        As ggml: a scale that float16 rounds to 0 is stored as 0, and the block decodes to zeros.
//   zeros              A block of zeros decodes to zeros, of either sign. Zeros beside other values come back as the
//                      smallest magnitudes of their group where grids have no zero: IQ1, IQ2, IQ3. Bytes that ggml
//                      leaves unset are 0. (ggml's IQ3_S puts what follows 32 zeros in the wrong place.)
//   signs              Of eight values of IQ2_XXS, IQ2_XS, IQ3_XXS an even number is negative; else the one that
//                      matters least, by weight times square, changes its sign.
//   integers           I8 to I64 take the nearest integer, ties to even, and saturate.
//   weights            A block whose weights are all 0 is encoded as if without; a group whose weights are, inside of a
//                      block of the IQ types, as if they were equal. Only ratios within a row matter where a row's
//                      largest weight lies outside 2^-30 .. 2^30.
//
// Source: https://github.com/ggml-org/ggml, version 0.21.0; the layouts are drawn beside each codec.
// All functions are pure and may be called from any thread; the caller owns all memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera::ggml {

// What importance weights, one for each column of a matrix, do in encoding. kNeeded: without them each counts as 1.
enum class Weights : uint8_t { kIgnored, kUsed, kNeeded };

struct BlockType {
  std::string_view name;  // "q4_k"; unique
  int32_t id;             // ggml's number of the type; unique
  int64_t block_values;
  int64_t block_bytes;
  Weights weights;
  bool has_specials;  // NaN and infinity can be stored
  // REQUIRES: whole blocks, and as many in `row` as in `values`.
  void (*decode)(std::span<const uint8_t> row, std::span<float> values);
  // One row of a matrix. REQUIRES: whole blocks, as many in `row` as in `bytes`; `weights` is empty or as long as
  // `row`, finite and not negative.
  void (*encode)(std::span<const float> row, std::span<const float> weights, std::span<uint8_t> bytes);
};

// In the order of their numbers.
std::span<const BlockType> AllBlockTypes();
// Upper and lower case are the same. nullptr if there is none.
const BlockType* FindBlockType(std::string_view name);
const BlockType* FindBlockType(int32_t id);

// A number that ggml gave to a type once and that it refuses today.
struct RemovedBlockType {
  int32_t id;
  std::string_view name;
  std::string_view reason;
};
std::span<const RemovedBlockType> RemovedBlockTypes();

// Bytes of `values` values.
// Errors: kArgument if that is not a whole number of blocks or does not fit into 64 bits.
Result<uint64_t> BlocksSize(const BlockType& type, uint64_t values);

// Checked forms for bytes and values from outside.
// Errors: kArgument as BlocksSize; kPayloadSize if `bytes` does not have that size.
Result<void> DecodeBlocks(const BlockType& type, std::span<const uint8_t> bytes, std::span<float> values);
// Rows of `row_values` values; `weights` is empty or has one for each column.
// Errors: kArgument if blocks do not divide a row, rows do not divide the values, or the sizes of `weights` or `bytes`
// do not fit; kEncodeValue for a value that is NaN or infinite though the type has neither, and for a weight that is
// negative, NaN or infinite. Nothing is written then.
Result<void> EncodeBlocks(const BlockType& type, std::span<const float> values, uint64_t row_values,
                          std::span<const float> weights, std::span<uint8_t> bytes);

}  // namespace tessera::ggml
