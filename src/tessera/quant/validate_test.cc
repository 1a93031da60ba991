// Every rule of validation beside the valid profile one edit away.
#include "tessera/quant/validate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/quant/profile_text.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using build::None;
using build::Only;

constexpr const char* kLinear =
    "QuantizationProto { linear: { storage_type: INT8 bits: 8 symmetric: false scale_float: 0.5 zero_point: 3 axis: -1 "
    "} }";
constexpr const char* kCodebook =
    "QuantizationProto { codebook: { codebook_data: [1, 2, 3, 4, 5, 6] vector_size: 2 packed_count: 5 packed_bytes: 1 "
    "} }";
constexpr const char* kIndexed =
    "QuantizationProto { codebook: { codebook_data: [1, 2, 3, 4] index_bits: 2 packed_count: 4 packed_bytes: 1 } }";
constexpr const char* kFloat =
    "QuantizationProto { floating_point: { sign_bits: 1 exponent_bits: 3 mantissa_bits: 2 exponent_bias: 3 has_inf: "
    "true "
    "has_nan: true split_storage: true packed_count: 4 packed_bytes: 3 } }";
constexpr const char* kSparse =
    "QuantizationProto { sparse: { base_quant: QuantizationProto { cast: { storage_type: INT8 } } "
    "outlier_data_type: FLOAT16 outlier_threshold: 6.0 outlier_ratio: 0.01 } }";
constexpr const char* kLog = "QuantizationProto { log: { bits: 4 base: 2.0 offset: -7.0 has_sign: true } }";
constexpr const char* kFunction =
    "QuantizationProto { function: { storage_type: UINT4 bits: 4 quantize_op: \"v::Q\" dequantize_op: \"v::D\" } "
    "metadata_props: { key: \"k\" value: \"v\" } }";
constexpr const char* kTiling =
    "QuantizationProto { tiling: { tile_shape: [8, 4] axes: [0, 1] perm: [1, 0] elem_quant: [ QuantizationProto { "
    "linear: "
    "{ storage_type: INT8 bits: 8 scale: stored(FLOAT, per=tile) axis: -1 } } ] } }";
constexpr const char* kCast = "QuantizationProto { data_type: FLOAT cast: { storage_type: BFLOAT16 } }";
constexpr const char* kBlocks =
    "QuantizationProto { structured_block: { block_layout: { block_size: 8 bytes_per_block: 4 fields: ["
    "{ role: CODE bit_offset: 0 bit_width: 2 count: 4 }, { role: SIGN bit_offset: 8 bit_width: 1 count: 4 },"
    "{ role: SCALE bit_offset: 16 bit_width: 16 count: 1 data_type: FLOAT16 } ] } "
    "codebook_data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] codebook_vector_size: 2 "
    "index_formula: [{ field: CODE multiplier: 1 }, { field: SIGN multiplier: 4 }] "
    "scatter: { group_size: 8 vector_size: 2 stride: 4 } axis: 0 } }";
constexpr const char* kPlain =
    "QuantizationProto { structured_block: { block_layout: { block_size: 8 bytes_per_block: 5 fields: ["
    "{ role: VALUES bit_offset: 0 bit_width: 4 count: 8 }, { role: SCALE bit_offset: 32 bit_width: 8 count: 1 } ] } } "
    "}";
constexpr const char* kSequential =
    "QuantizationProto { structured_block: { block_layout: { block_size: 8 bytes_per_block: 6 fields: ["
    "{ role: VALUES bit_offset: 8 bit_width: 4 count: 8 }, { role: SCALE bit_offset: 0 bit_width: 8 count: 1 } ] } "
    "storage_order: SEQUENTIAL } }";
constexpr const char* kHadamard =
    "QuantizationProto { cast: { storage_type: FLOAT16 } pre_rotation: { matrix_type: HADAMARD dims: [8, 8] } }";
constexpr const char* kDiagonal =
    "QuantizationProto { cast: { storage_type: FLOAT16 } post_rotation: { matrix_type: PLAIN dims: [2] matrix: [1, 2] "
    "} }";

struct Rule {
  const char* good;
  const char* from;  // in `good`, once
  const char* to;
  ErrorCode code;
  const char* where;
};

using enum ErrorCode;
constexpr Rule kRules[] = {
    // Linear
    {kLinear, "bits: 8", "bits: 13", kProfileValue, "linear.bits"},
    {kLinear, "bits: 8", "bits: 0", kProfileValue, "linear.bits"},
    {kLinear, "bits: 8", "bits: -1", kProfileValue, "linear.bits"},
    {kLinear, "storage_type: INT8", "storage_type: STRING", kProfileValue, "linear.storage_type"},
    {kLinear, "storage_type: INT8", "storage_type: BOOL", kProfileValue, "linear.storage_type"},
    {kLinear, "storage_type: INT8", "", kProfileValue, "linear.storage_type"},
    {kLinear, "storage_type: INT8", "storage_type: FLOAT16", kProfileConflict, "linear.bits"},
    {kLinear, "symmetric: false", "symmetric: true", kProfileConflict, "linear.zero_point"},
    {kLinear, "scale_float: 0.5", "scale_float: 0", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale_float: -0.0", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale_float: nan", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale_float: inf", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale_int: 128", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale_int: -150", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale: stored(FLOAT, per=tile)", kProfileStored, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale: stored(FLOAT, per=channel)", kProfileStored, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale: stored(STRING, per=tensor)", kProfileValue, "linear.scale"},
    {kLinear, "scale_float: 0.5", "scale: stored(QuantizationProto { }, per=tensor)", kProfileKind,
     "linear.scale.stored"},
    {kLinear, "zero_point: 3", "zero_point: stored(COMPLEX64, per=tensor)", kProfileValue, "linear.zero_point"},
    {kLinear, "axis: -1", "axis: -2", kProfileValue, "linear.axis"},
    // Codebook
    {kCodebook, "5, 6]", "5]", kProfileData, "codebook.codebook_data"},
    {kCodebook, "[1, 2, 3, 4, 5, 6]", "[]", kProfileData, "codebook.codebook_data"},
    {kCodebook, "5, 6]", "5, nan]", kProfileData, "codebook.codebook_data"},
    {kIndexed, "index_bits: 2", "index_bits: 2 codebook_size: 3", kProfileData, "codebook.codebook_data"},
    {kCodebook, "vector_size: 2", "vector_size: 2 num_codebooks: -1", kProfileValue, "codebook.num_codebooks"},
    {kCodebook, "vector_size: 2", "vector_size: -2", kProfileValue, "codebook.vector_size"},
    {kCodebook, "vector_size: 2", "vector_size: 2 codebook_size: -3", kProfileValue, "codebook.codebook_size"},
    {kCodebook, "vector_size: 2", "vector_size: 2147483647 num_codebooks: 2147483647 codebook_size: 2147483647",
     kProfileValue, "codebook.codebook_size"},
    {kCodebook, "packed_bytes: 1", "", kProfileConflict, "codebook.packed_count"},
    {kCodebook, "packed_count: 5 packed_bytes: 1", "", kProfileConflict, "codebook.index_bits"},
    {kCodebook, "packed_count: 5", "packed_count: 6", kProfileConflict, "codebook.packed_count"},  // 3^6 > 256
    {kCodebook, "packed_bytes: 1", "packed_bytes: 9", kProfileValue, "codebook.packed_bytes"},
    {kCodebook, "packed_count: 5", "packed_count: -5", kProfileValue, "codebook.packed_count"},
    {kCodebook, "packed_bytes: 1", "packed_bytes: -1", kProfileValue, "codebook.packed_bytes"},
    {kIndexed, "index_bits: 2", "index_bits: 1", kProfileConflict, "codebook.index_bits"},
    {kIndexed, "index_bits: 2", "index_bits: 33", kProfileValue, "codebook.index_bits"},
    {kIndexed, "packed_count: 4", "packed_count: 5", kProfileConflict, "codebook.packed_bytes"},
    {kIndexed, "index_bits: 2", "index_bits: 2 scale_float: 0.0", kProfileValue, "codebook.scale"},
    // FloatingPoint
    {kFloat, "sign_bits: 1", "sign_bits: 2", kProfileValue, "floating_point.sign_bits"},
    {kFloat, "exponent_bits: 3", "exponent_bits: 0", kProfileValue, "floating_point.exponent_bits"},
    {kFloat, "mantissa_bits: 2", "mantissa_bits: -1", kProfileValue, "floating_point.mantissa_bits"},
    {kFloat, "mantissa_bits: 2 exponent_bias: 3 has_inf: true has_nan: true split_storage: true",
     "mantissa_bits: 0 exponent_bias: 3 has_inf: true has_nan: true", kProfileConflict, "floating_point.has_nan"},
    {kFloat, "mantissa_bits: 2 exponent_bias: 3 has_inf: true", "mantissa_bits: 0 exponent_bias: 3", kProfileConflict,
     "floating_point.split_storage"},
    {kFloat, "exponent_bias: 3", "exponent_bias: 149", kProfileValue, "floating_point.exponent_bias"},
    {kFloat, "exponent_bias: 3", "exponent_bias: -122", kProfileValue, "floating_point.exponent_bias"},
    {kFloat, "packed_bytes: 3", "packed_bytes: 2", kProfileConflict, "floating_point.packed_bytes"},
    {kFloat, "packed_count: 4", "", kProfileConflict, "floating_point.packed_count"},
    {kFloat, "packed_count: 4", "packed_count: -4", kProfileValue, "floating_point.packed_count"},
    {kFloat, "packed_bytes: 3", "packed_bytes: 3 scale_float: nan", kProfileValue, "floating_point.scale"},
    // Sparse
    {kSparse, "outlier_data_type: FLOAT16", "", kProfileValue, "sparse.outlier_data_type"},
    {kSparse, "outlier_threshold: 6.0", "outlier_threshold: -1.0", kProfileValue, "sparse.outlier_threshold"},
    {kSparse, "outlier_threshold: 6.0", "outlier_threshold: inf", kProfileValue, "sparse.outlier_threshold"},
    {kSparse, "outlier_ratio: 0.01", "outlier_ratio: 1.5", kProfileValue, "sparse.outlier_ratio"},
    {kSparse, "outlier_ratio: 0.01", "outlier_ratio: nan", kProfileValue, "sparse.outlier_ratio"},
    {kSparse, "cast: { storage_type: INT8 }", "", kProfileKind, "sparse.base_quant"},
    // Log
    {kLog, "bits: 4", "bits: 0", kProfileValue, "log.bits"},
    {kLog, "bits: 4", "bits: 33", kProfileValue, "log.bits"},
    {kLog, "base: 2.0", "base: 1.0", kProfileValue, "log.base"},
    {kLog, "base: 2.0", "base: -2.0", kProfileValue, "log.base"},
    {kLog, "base: 2.0", "", kProfileValue, "log.base"},
    {kLog, "offset: -7.0", "offset: nan", kProfileValue, "log.offset"},
    // Function
    {kFunction, "bits: 4", "bits: 5", kProfileValue, "function.bits"},
    {kFunction, "storage_type: UINT4", "storage_type: STRING", kProfileValue, "function.storage_type"},
    {kFunction, "dequantize_op: \"v::D\"", "", kProfileValue, "function.dequantize_op"},
    {kFunction, "key: \"k\"", "key: \"quantize_op\"", kProfileMetadata, "function.metadata_props[0]"},
    {kFunction, "key: \"k\"", "key: \"tessera.shape\"", kProfileMetadata, "metadata_props[0]"},
    {kFunction, "bits: 4", "bits: 4 block_layout: { block_size: 8 bytes_per_block: 4 }", kProfileBlock,
     "function.block_layout.fields"},
    // Tiling
    {kTiling, "tile_shape: [8, 4]", "tile_shape: [8]", kProfileConflict, "tiling.tile_shape"},
    {kTiling, "axes: [0, 1]", "", kProfileConflict, "tiling.tile_shape"},
    {kTiling, "tile_shape: [8, 4]", "tile_shape: [8, -4]", kProfileValue, "tiling.tile_shape[1]"},
    {kTiling, "axes: [0, 1]", "axes: [1, 1]", kProfileValue, "tiling.axes"},
    {kTiling, "axes: [0, 1]", "axes: [0, -1]", kProfileValue, "tiling.axes"},
    {kTiling, "perm: [1, 0]", "perm: [1, 1]", kProfileValue, "tiling.perm"},
    {kTiling, "perm: [1, 0]", "perm: [1, 2]", kProfileValue, "tiling.perm"},
    {kTiling, "bits: 8", "bits: 9", kProfileValue, "tiling.elem_quant[0].linear.bits"},
    {kTiling, "scale: stored(FLOAT, per=tile) axis: -1 } } ]",
     "scale_float: 1.0 axis: -1 } }, QuantizationProto { linear: { storage_type: INT8 bits: 8 scale: stored(FLOAT, "
     "per=tensor) axis: -1 } } ]",
     kProfileStored, "tiling.elem_quant[1].linear.scale"},
    {kTiling, "scale: stored(FLOAT, per=tile) axis: -1 } } ]",
     "scale_float: 1.0 axis: -1 } }, QuantizationProto { linear: { storage_type: INT8 bits: 8 scale: stored("
     "QuantizationProto { cast: { storage_type: FLOAT } }, per=tile) axis: -1 } } ]",
     kProfileStored, "tiling.elem_quant[1].linear.scale"},
    // Cast, and what every profile has
    {kCast, "storage_type: BFLOAT16", "", kProfileValue, "cast.storage_type"},
    {kCast, "data_type: FLOAT", "data_type: STRING", kProfileValue, "data_type"},
    {kCast, "data_type: FLOAT", "data_type: 0", kProfileValue, "data_type"},
    {kCast, "cast: { storage_type: BFLOAT16 }", "", kProfileKind, ""},
    // StructuredBlock
    {kBlocks, "block_size: 8", "block_size: 0", kProfileValue, "structured_block.block_layout.block_size"},
    {kBlocks, "bit_offset: 8", "bit_offset: 7", kProfileBlock, "structured_block.block_layout.fields[1]"},
    {kBlocks, "bit_offset: 16", "bit_offset: 17", kProfileBlock, "structured_block.block_layout.fields[2]"},
    {kBlocks, "bit_offset: 16", "bit_offset: -1", kProfileValue, "structured_block.block_layout.fields[2].bit_offset"},
    {kBlocks, "bit_width: 16", "bit_width: 15", kProfileBlock, "structured_block.block_layout.fields[2].bit_width"},
    {kBlocks, "bit_width: 16 count: 1 data_type: FLOAT16", "bit_width: 0 count: 1", kProfileValue,
     "structured_block.block_layout.fields[2].bit_width"},
    {kBlocks, "count: 1 ", "count: 0 ", kProfileValue, "structured_block.block_layout.fields[2].count"},
    {kBlocks, "role: SCALE", "role: CODE", kProfileBlock, "structured_block.block_layout.fields[2].role"},
    {kBlocks, "bytes_per_block: 4", "bytes_per_block: 3", kProfileBlock, "structured_block.block_layout.fields[2]"},
    {kBlocks, "data_type: FLOAT16", "data_type: STRING", kProfileValue,
     "structured_block.block_layout.fields[2].data_type"},
    {kBlocks, "bit_width: 16 count: 1 data_type: FLOAT16", "bit_width: 4 count: 3", kProfileBlock,
     "structured_block.block_layout.fields[2]"},
    {kBlocks, "multiplier: 4", "multiplier: 5", kProfileBlock, "structured_block.index_formula"},  // index up to 8
    {kBlocks, "multiplier: 1 }", "multiplier: -1 }", kProfileBlock, "structured_block.index_formula"},
    {kBlocks, "field: SIGN", "field: MASK", kProfileBlock, "structured_block.index_formula[1]"},
    {kBlocks, "field: SIGN", "field: SCALE", kProfileBlock, "structured_block.index_formula[1]"},
    {kBlocks, "bit_width: 1 count: 4", "bit_width: 1 count: 3", kProfileBlock, "structured_block.index_formula[1]"},
    {kBlocks, "15, 16]", "15]", kProfileData, "structured_block.codebook_data"},
    {kBlocks, "15, 16]", "15, inf]", kProfileData, "structured_block.codebook_data"},
    {kBlocks, "block_size: 8", "block_size: 16", kProfileBlock, "structured_block.codebook_vector_size"},
    {kBlocks, "index_formula: [{ field: CODE multiplier: 1 }, { field: SIGN multiplier: 4 }]", "", kProfileBlock,
     "structured_block.index_formula"},
    {kBlocks, "group_size: 8", "group_size: 7", kProfileBlock, "structured_block.scatter.group_size"},
    {kBlocks, "stride: 4", "stride: 3", kProfileBlock, "structured_block.scatter.stride"},
    {kBlocks, "group_size: 8 vector_size: 2 stride: 4", "group_size: 8 vector_size: 4 stride: 2", kProfileBlock,
     "structured_block.scatter.vector_size"},
    {kBlocks, "group_size: 8 vector_size: 2 stride: 4", "group_size: 16 vector_size: 2 stride: 8", kProfileBlock,
     "structured_block.scatter.group_size"},
    {kBlocks, "group_size: 8 vector_size: 2 stride: 4", "vector_size: 2 stride: 4", kProfileValue,
     "structured_block.scatter.group_size"},
    {kBlocks, "axis: 0", "axis: -1", kProfileValue, "structured_block.axis"},
    {kPlain, "role: VALUES", "role: CODE", kProfileBlock, "structured_block.block_layout"},
    {kPlain, "count: 8", "count: 7", kProfileBlock, "structured_block.block_layout"},
    {kPlain, "count: 1 } ] }", "count: 1 } ] } codebook_vector_size: 2", kProfileConflict,
     "structured_block.codebook_vector_size"},
    {kPlain, "count: 1 } ] }", "count: 1 } ] } index_formula: [{ field: VALUES multiplier: 1 }]", kProfileBlock,
     "structured_block.index_formula"},
    {kPlain, "role: SCALE bit_offset: 32 bit_width: 8 count: 1", "role: SIGN bit_offset: 32 bit_width: 1 count: 4",
     kProfileBlock, "structured_block.block_layout.fields[1]"},
    {kPlain, "role: SCALE bit_offset: 32 bit_width: 8 count: 1", "role: MASK bit_offset: 32 bit_width: 8 count: 1",
     kProfileBlock, "structured_block.block_layout.fields[1]"},
    {kPlain, "role: SCALE bit_offset: 32 bit_width: 8 count: 1",
     "role: EXPONENT bit_offset: 32 bit_width: 8 count: 1 data_type: FLOAT8E5M2", kProfileBlock,
     "structured_block.block_layout.fields[1]"},
    {kPlain, "role: SCALE", "role: CODE", kProfileBlock, "structured_block.block_layout.fields[1]"},
    {kBlocks, "role: SCALE bit_offset: 16 bit_width: 16 count: 1 data_type: FLOAT16",
     "role: VALUES bit_offset: 16 bit_width: 2 count: 8", kProfileBlock, "structured_block.block_layout.fields[2]"},
    {kSequential, "bytes_per_block: 6", "bytes_per_block: 7", kProfileBlock,
     "structured_block.block_layout.bytes_per_block"},
    // Rotations
    {kHadamard, "dims: [8, 8]", "dims: [12, 12]", kProfileValue, "pre_rotation.dims"},
    {kHadamard, "dims: [8, 8]", "dims: [4, 8]", kProfileConflict, "pre_rotation.dims"},
    {kHadamard, "dims: [8, 8]", "", kProfileValue, "pre_rotation.dims"},
    {kHadamard, "dims: [8, 8]", "dims: [8, 8, 8]", kProfileValue, "pre_rotation.dims"},
    {kHadamard, "dims: [8, 8]", "dims: [0]", kProfileValue, "pre_rotation.dims[0]"},
    {kHadamard, "dims: [8, 8]", "dims: [8, 8] matrix: [1]", kProfileConflict, "pre_rotation.matrix"},
    {kDiagonal, "matrix: [1, 2]", "matrix: [1, 2, 3]", kProfileData, "post_rotation.matrix"},
    {kDiagonal, "matrix: [1, 2]", "", kProfileData, "post_rotation.matrix"},
    {kDiagonal, "dims: [2]", "dims: [2, 2]", kProfileData, "post_rotation.matrix"},
    {kDiagonal, "matrix: [1, 2]", "matrix_index: -1", kProfileValue, "post_rotation.matrix_index"},
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " is there twice in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Problems Validate(const std::string& text) {
  Problems problems;
  Result<ProfileText> parsed = ParseProfiles(text, {});
  if (!parsed) {
    ADD_FAILURE() << parsed.error().Format() << "\n" << text;
    return problems;
  }
  const Path root;
  ValidateProfile(parsed->profiles.at(0), root, {}, &problems);
  return problems;
}

TEST(ValidateTest, EveryRuleRefusesOneEdit) {
  for (const Rule& rule : kRules) {
    EXPECT_TRUE(None(Validate(rule.good))) << rule.good;
    const Problems problems = Validate(Replaced(rule.good, rule.from, rule.to));
    EXPECT_TRUE(Only(problems, rule.code, rule.where)) << rule.from << " -> " << rule.to;
    for (const Error& error : problems.list()) EXPECT_FALSE(error.fix.empty()) << error.Format();
  }
}

// The other side of each bound.
TEST(ValidateTest, WhatIsJustInRangeIsTaken) {
  for (const Rule& rule : std::vector<Rule>{
           {kLinear, "bits: 8", "bits: 1", kArgument, ""},
           {kLinear, "scale_float: 0.5", "scale_float: -0.5", kArgument, ""},
           {kLinear, "scale_float: 0.5", "scale_int: 127", kArgument, ""},
           {kLinear, "scale_float: 0.5", "scale_int: -149", kArgument, ""},
           {kLinear, "scale_float: 0.5", "", kArgument, ""},
           {kLinear, "storage_type: INT8", "storage_type: FLOAT8E4M3FN", kArgument, ""},
           {kLinear, "zero_point: 3", "zero_point: -9223372036854775808", kArgument, ""},
           {kCodebook, "packed_count: 5 packed_bytes: 1", "packed_count: 40 packed_bytes: 8", kArgument,
            ""},  // 3^40 < 2^64
           {kIndexed, "index_bits: 2 packed_count: 4 packed_bytes: 1", "packed_count: 32 packed_bytes: 8", kArgument,
            ""},  // 4^32 = 2^64
           {kIndexed, "index_bits: 2", "index_bits: 2 scale: stored(FLOAT, per=channel)", kArgument, ""},
           {kFloat, "exponent_bias: 3", "exponent_bias: 148", kArgument, ""},
           {kFloat, "exponent_bias: 3", "exponent_bias: -121", kArgument, ""},
           {kFloat, "packed_bytes: 3", "packed_bytes: 4", kArgument, ""},
           {kBlocks, "multiplier: 4", "multiplier: 3", kArgument, ""},
           {kBlocks, "axis: 0", "", kArgument, ""},
           {kPlain, "role: SCALE bit_offset: 32 bit_width: 8 count: 1",
            "role: SIGN bit_offset: 32 bit_width: 1 count: 8", kArgument, ""},
           {kPlain, "role: SCALE bit_offset: 32 bit_width: 8 count: 1",
            "role: EXPONENT bit_offset: 32 bit_width: 8 count: 1", kArgument, ""},
           {kHadamard, "dims: [8, 8]", "dims: [1]", kArgument, ""},
           {kDiagonal, "matrix: [1, 2]", "matrix: [...]", kArgument, ""},
           {kDiagonal, "matrix: [1, 2]", "matrix_index: 0", kArgument, ""},
       }) {
    EXPECT_TRUE(None(Validate(Replaced(rule.good, rule.from, rule.to)))) << rule.from << " -> " << rule.to;
  }
}

TEST(ValidateTest, DigitsOfBaseTwoHundredFiftySixFillTheirBytes) {
  // 256^8 = 2^64 is the last that fits, and 257^8 is the first that does not.
  auto text = [](int size) {
    std::string data;
    for (int i = 0; i < size; ++i) data += std::to_string(i) + ", ";
    return "QuantizationProto { codebook: { codebook_data: [" + data + "] packed_count: 8 packed_bytes: 8 } }";
  };
  EXPECT_TRUE(None(Validate(text(256))));
  EXPECT_TRUE(Only(Validate(text(257)), kProfileConflict, "codebook.packed_count"));
}

TEST(ValidateTest, AllProblemsAreListed) {
  const Problems problems = Validate(
      "QuantizationProto { tiling: { tile_shape: [4, 4] elem_quant: [ QuantizationProto { linear: { storage_type: INT8 "
      "bits: 9 "
      "scale_float: 0.0 axis: -3 } }, QuantizationProto { } ] } }");
  EXPECT_EQ(build::Places(problems),
            (std::vector<std::string>{
                "tiling.tile_shape [profile-conflict]", "tiling.elem_quant[0].linear.bits [profile-value]",
                "tiling.elem_quant[0].linear.axis [profile-value]", "tiling.elem_quant[0].linear.scale [profile-value]",
                "tiling.elem_quant[1] [profile-kind]"}));
}

TEST(ValidateTest, NestingIsBounded) {
  Profile profile;
  profile.kind = CastProfile{ElementType::kFloat16};
  auto wrap = [](Profile inner) {
    TilingProfile tiling;
    tiling.tile_shape = {0};
    tiling.elem_quant.push_back(std::move(inner));
    Profile outer;
    outer.kind = std::move(tiling);
    return outer;
  };
  Limits limits;
  for (uint32_t depth = 1; depth < limits.depth; ++depth) profile = wrap(std::move(profile));
  Problems problems;
  const Path root;
  ValidateProfile(profile, root, limits, &problems);
  EXPECT_TRUE(None(problems));
  profile = wrap(std::move(profile));
  ValidateProfile(profile, root, limits, &problems);
  ASSERT_EQ(problems.count(), 1u);
  EXPECT_EQ(problems.list()[0].code, kLimitDepth);
}

TEST(ValidateTest, DataThatIsAlsoAParameterIsRefused) {
  Profile profile;
  CodebookProfile codebook;
  codebook.codebook_data = {{1, 2}, "data"};
  codebook.index_bits = 1;
  profile.kind = codebook;
  Problems problems;
  const Path root;
  ValidateProfile(profile, root, {}, &problems);
  EXPECT_FALSE(problems.empty());
}

}  // namespace
}  // namespace tessera
