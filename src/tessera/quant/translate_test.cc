// The translation, family by family, against declarations written by hand; what cannot be translated; the way back.
#include "tessera/quant/translate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/quant/profile_text.h"
#include "tessera/types/closure.h"
#include "tessera/types/notation.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

Profile ProfileOf(const std::string& text) {
  Result<ProfileText> parsed = ParseProfiles(text, {});
  if (!parsed) {
    ADD_FAILURE() << parsed.error().Format() << "\n" << text;
    return {};
  }
  return parsed->profiles.at(0);
}

std::vector<StructType> TypesOf(const std::string& text) {
  Result<NotationResult> parsed = ParseNotation(text, {});
  if (!parsed) {
    ADD_FAILURE() << parsed.error().Format() << "\n" << text;
    return {};
  }
  return parsed->types;
}

struct Case {
  const char* name;
  const char* profile;
  std::vector<int64_t> shape;
  const char* types;  // nested ones first, as the translation gives them
};

// A tile of eight 4-bit codes with what stands before and after them.
#define TESSERA_TILED(parameters)                                                                                  \
  "QuantizationProto { tiling: { tile_shape: [8] elem_quant: [ QuantizationProto { linear: { storage_type: UINT4 " \
  "bits: 4 axis: -1 " parameters " } } ] } }"
#define TESSERA_LINEAR_CONSTANTS                                    \
  ", { name: \"storage_type\" constant: tensor(INT32, [], UINT4) }" \
  ", { name: \"bits\" constant: tensor(INT32, [], 4) }"             \
  ", { name: \"symmetric\" constant: tensor(BOOL, [], false) }"
#define TESSERA_NO_ZERO_POINT                                 \
  ", { name: \"zero_point\" constant: tensor(INT64, [], 0) }" \
  ", { name: \"axis\" constant: tensor(INT32, [], -1) }"

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"linear, packed, with padding of no bit",
       "QuantizationProto { data_type: FLOAT16 linear: { storage_type: UINT8 bits: 3 scale_int: -2 zero_point: 4 axis: "
       "1 } }",
       {3, 5},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "values" type: array(UINT8, dimension=6) },
            { name: "storage_type" constant: tensor(INT32, [], UINT8) },
            { name: "bits" constant: tensor(INT32, [], 3) },
            { name: "symmetric" constant: tensor(BOOL, [], false) },
            { name: "scale" constant: tensor(INT32, [], -2) },
            { name: "zero_point" constant: tensor(INT64, [], 4) },
            { name: "axis" constant: tensor(INT32, [], 1) },
            { name: "data_type" constant: tensor(INT32, [], FLOAT16) } ] }
            metadata_props: { key: "tessera.shape" value: "3x5" } })"},
      {"linear, stored per channel, and a nibble of padding",
       "QuantizationProto { linear: { storage_type: INT4 bits: 4 scale: stored(FLOAT16, per=channel, at=before) "
       "zero_point: stored(INT8, per=tensor, at=after) axis: 0 } }",
       {3, 5},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "scale" type: array(FLOAT16, dimension=3) },
            { name: "values" type: array(INT4, dimension=15) },
            { name: "zero_point" type: INT8 },
            { name: "padding" type: bit_packing(components=[padding:4]) },
            { name: "storage_type" constant: tensor(INT32, [], INT4) },
            { name: "bits" constant: tensor(INT32, [], 4) },
            { name: "symmetric" constant: tensor(BOOL, [], false) },
            { name: "axis" constant: tensor(INT32, [], 0) } ] }
            metadata_props: [ { key: "tessera.scale" value: "per=channel, at=before" },
                              { key: "tessera.zero_point" value: "per=tensor, at=after" },
                              { key: "tessera.shape" value: "3x5" } ] })"},
      {"codebook of digits",
       "QuantizationProto { codebook: { scale_float: 0.5 codebook_data: [-1, 0, 1] packed_count: 5 packed_bytes: 1 } }",
       {11},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "indices" type: array(UINT8, dimension=3) },
            { name: "codebook" constant: tensor(FLOAT, [3], [-1, 0, 1]) },
            { name: "scale" constant: tensor(FLOAT, [], 0.5) },
            { name: "packed_count" constant: tensor(INT32, [], 5) },
            { name: "packed_bytes" constant: tensor(INT32, [], 1) },
            { name: "num_codebooks" constant: tensor(INT32, [], 1) },
            { name: "codebook_size" constant: tensor(INT32, [], 3) },
            { name: "vector_size" constant: tensor(INT32, [], 1) },
            { name: "index_bits" constant: tensor(INT32, [], 0) } ] }
            metadata_props: { key: "tessera.shape" value: "11" } })"},
      {"additive codebooks of vectors",
       "QuantizationProto { codebook: { num_codebooks: 2 vector_size: 2 index_bits: 8 codebook_data: [1, 2, 3, 4, 5, "
       "6, 7, 8] } }",
       {3, 4},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "indices" type: array(UINT8, dimensions=[6, 2]) },
            { name: "codebook" constant: tensor(FLOAT, [2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]) },
            { name: "num_codebooks" constant: tensor(INT32, [], 2) },
            { name: "codebook_size" constant: tensor(INT32, [], 2) },
            { name: "vector_size" constant: tensor(INT32, [], 2) },
            { name: "index_bits" constant: tensor(INT32, [], 8) } ] }
            metadata_props: { key: "tessera.shape" value: "3x4" } })"},
      {"floats of an ONNX type",
       "QuantizationProto { floating_point: { sign_bits: 1 exponent_bits: 2 mantissa_bits: 1 exponent_bias: 1 "
       "packed_count: 2 packed_bytes: 1 } }",
       {3},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "values" type: array(FLOAT4E2M1, dimension=3) },
            { name: "padding" type: bit_packing(components=[padding:4]) },
            { name: "sign_bits" constant: tensor(INT32, [], 1) },
            { name: "exponent_bits" constant: tensor(INT32, [], 2) },
            { name: "mantissa_bits" constant: tensor(INT32, [], 1) },
            { name: "exponent_bias" constant: tensor(INT32, [], 1) },
            { name: "has_inf" constant: tensor(BOOL, [], false) },
            { name: "has_nan" constant: tensor(BOOL, [], false) },
            { name: "split_storage" constant: tensor(BOOL, [], false) },
            { name: "packed_count" constant: tensor(INT32, [], 2) },
            { name: "packed_bytes" constant: tensor(INT32, [], 1) } ] }
            metadata_props: { key: "tessera.shape" value: "3" } })"},
      {"floats that ONNX has not, in groups without padding",
       "QuantizationProto { floating_point: { sign_bits: 1 exponent_bits: 3 mantissa_bits: 2 exponent_bias: 3 has_inf: "
       "true has_nan: true packed_count: 4 packed_bytes: 3 } }",
       {7},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "packed" type: bit_packing(dimensions=[2, 4], components=[sign:1, exponent:3, mantissa:2]) },
            { name: "exponent_bias" constant: tensor(INT32, [], 3) },
            { name: "has_inf" constant: tensor(BOOL, [], true) },
            { name: "has_nan" constant: tensor(BOOL, [], true) } ] }
            metadata_props: { key: "tessera.shape" value: "7" } })"},
      {"split floats in groups with padding",
       "QuantizationProto { floating_point: { exponent_bits: 3 mantissa_bits: 3 exponent_bias: 3 split_storage: true "
       "packed_count: 5 packed_bytes: 5 scale: stored(FLOAT, per=tensor, at=after) } }",
       {9},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_GROUP" structure: { field: [
            { name: "sign_exponent" type: bit_packing(dimension=5, components=[exponent:3]) },
            { name: "mantissa" type: bit_packing(dimension=5, components=[mantissa:3]) },
            { name: "padding" type: bit_packing(components=[padding:10]) },
            { name: "exponent_bias" constant: tensor(INT32, [], 3) },
            { name: "has_inf" constant: tensor(BOOL, [], false) },
            { name: "has_nan" constant: tensor(BOOL, [], false) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "values" type: array(struct(type_index=0), dimension=2) },
            { name: "scale" type: FLOAT } ] }
            metadata_props: [ { key: "tessera.scale" value: "per=tensor, at=after" },
                              { key: "tessera.shape" value: "9" } ] } ] })"},
      {"sparse over tiles",
       "QuantizationProto { sparse: { outlier_data_type: BFLOAT16 outlier_ratio: 0.25 base_quant: " TESSERA_TILED(
           "scale: stored(FLOAT, per=tensor)") " } }",
       {2, 8},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_BASE_TILE_8" structure: { field: [
            { name: "values" type: array(UINT4, dimension=8) })" TESSERA_LINEAR_CONSTANTS TESSERA_NO_ZERO_POINT R"( ] }
            metadata_props: { key: "tessera.scale" value: "per=tensor, at=before" } },
          StructTypeProto { name: "T_BASE" structure: { field: [
            { name: "scale" type: FLOAT },
            { name: "tiles" type: array(struct(type_index=0), dimension=2) },
            { name: "tile_shape" constant: tensor(INT64, [1], [8]) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "base" type: struct(type_index=1) },
            { name: "outlier_indices" type: array(INT64, dimension=4) },
            { name: "outlier_values" type: array(BFLOAT16, dimension=4) },
            { name: "outlier_data_type" constant: tensor(INT32, [], BFLOAT16) },
            { name: "outlier_threshold" constant: tensor(FLOAT, [], 0.0) },
            { name: "outlier_ratio" constant: tensor(FLOAT, [], 0.25) } ] }
            metadata_props: { key: "tessera.shape" value: "2x8" } } ] })"},
      {"log with signs",
       "QuantizationProto { log: { bits: 4 base: 2.0 offset: -7.0 has_sign: true } }",
       {9},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "codes" type: array(UINT4, dimension=9) },
            { name: "padding" type: bit_packing(components=[padding:4]) },
            { name: "signs" type: array(UINT8, dimension=2) },
            { name: "bits" constant: tensor(INT32, [], 4) },
            { name: "base" constant: tensor(FLOAT, [], 2.0) },
            { name: "offset" constant: tensor(FLOAT, [], -7.0) },
            { name: "has_sign" constant: tensor(BOOL, [], true) } ] }
            metadata_props: { key: "tessera.shape" value: "9" } })"},
      {"custom operators",
       "QuantizationProto { doc_string: \"d\" function: { storage_type: UINT8 bits: 3 quantize_op: \"v::Q\" "
       "dequantize_op: \"v::D\" } metadata_props: { key: \"k\" value: \"w\" } }",
       {9},
       R"(StructTypeProto { name: "T" doc_string: "d" structure: { field: [
            { name: "payload" type: array(UINT8, dimension=4) },
            { name: "storage_type" constant: tensor(INT32, [], UINT8) },
            { name: "bits" constant: tensor(INT32, [], 3) } ] }
            metadata_props: [ { key: "quantize_op" value: "v::Q" }, { key: "dequantize_op" value: "v::D" },
                              { key: "k" value: "w" }, { key: "tessera.shape" value: "9" } ] })"},
      {"cast",
       "QuantizationProto { data_type: DOUBLE cast: { storage_type: BFLOAT16 } }",
       {2, 3},
       R"(StructTypeProto { name: "T" array: { element_type: BFLOAT16 dimension: 6 }
            metadata_props: [ { key: "tessera.data_type" value: "DOUBLE" }, { key: "tessera.shape" value: "2x3" } ] })"},
      {"cast that ends inside a byte",
       "QuantizationProto { data_type: DOUBLE cast: { storage_type: INT4 } }",
       {3},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "values" type: array(INT4, dimension=3) },
            { name: "padding" type: bit_packing(components=[padding:4]) },
            { name: "data_type" constant: tensor(INT32, [], DOUBLE) } ] }
            metadata_props: { key: "tessera.shape" value: "3" } })"},
      {"tiles of axes, in another order of memory",
       "QuantizationProto { tiling: { tile_shape: [2, 0] axes: [0, 2] perm: [2, 0, 1] elem_quant: [ QuantizationProto "
       "{ data_type: FLOAT cast: { storage_type: FLOAT } } ] } }",
       {4, 3, 5},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_TILE_2X3X5" array: { element_type: FLOAT dimension: [5, 2, 3] }
            metadata_props: { key: "tessera.data_type" value: "FLOAT" } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "tiles" type: array(struct(type_index=0), dimensions=[1, 2]) },
            { name: "tile_shape" constant: tensor(INT64, [2], [2, 0]) },
            { name: "axes" constant: tensor(INT32, [2], [0, 2]) },
            { name: "perm" constant: tensor(INT32, [3], [2, 0, 1]) } ] }
            metadata_props: { key: "tessera.shape" value: "4x3x5" } } ] })"},
      {"tiles that differ in scale and zero point",
       "QuantizationProto { tiling: { tile_shape: [8] elem_quant: ["
       "QuantizationProto { linear: { storage_type: UINT4 bits: 4 scale_float: 0.5 zero_point: 7 axis: -1 } },"
       "QuantizationProto { linear: { storage_type: UINT4 bits: 4 scale_float: 0.25 zero_point: 8 axis: -1 } } ] } }",
       {3, 8},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "values" type: array(UINT4, dimensions=[3, 8]) },
            { name: "scales" constant: tensor(FLOAT, [3], [0.5, 0.25, 0.5]) },
            { name: "zero_points" constant: tensor(INT64, [3], [7, 8, 7]) },
            { name: "tile_shape" constant: tensor(INT64, [1], [8]) },
            { name: "elem_quant_count" constant: tensor(INT32, [], 2) })" TESSERA_LINEAR_CONSTANTS R"(
            , { name: "axis" constant: tensor(INT32, [], -1) } ] }
            metadata_props: { key: "tessera.shape" value: "3x8" } })"},
      {"tiles of two kinds in turn",
       "QuantizationProto { tiling: { tile_shape: [4] elem_quant: ["
       "QuantizationProto { cast: { storage_type: INT8 } }, QuantizationProto { cast: { storage_type: INT8 } },"
       "QuantizationProto { cast: { storage_type: FLOAT16 } } ] } }",
       {16},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_TILE_4_0" array: array(INT8, dimension=4) },
          StructTypeProto { name: "T_TILE_4_1" array: array(FLOAT16, dimension=4) },
          StructTypeProto { name: "T_CYCLE" structure: { field: [
            { name: "tiles_0" type: array(struct(type_index=0), dimension=2) },
            { name: "tiles_1" type: array(struct(type_index=1), dimension=1) } ] } },
          StructTypeProto { name: "T_TAIL" structure: { field: [
            { name: "tiles_0" type: array(struct(type_index=0), dimension=1) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "tiles" type: array(struct(type_index=2), dimension=1) },
            { name: "tail" type: struct(type_index=3) },
            { name: "tile_shape" constant: tensor(INT64, [1], [4]) },
            { name: "elem_quant_count" constant: tensor(INT32, [], 3) } ] }
            metadata_props: { key: "tessera.shape" value: "16" } } ] })"},
      {"a tile of each kind",
       "QuantizationProto { tiling: { tile_shape: [4] elem_quant: ["
       "QuantizationProto { cast: { storage_type: INT8 } }, QuantizationProto { cast: { storage_type: FLOAT16 } } ] } "
       "}",
       {8},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_TILE_4_0" array: array(INT8, dimension=4) },
          StructTypeProto { name: "T_TILE_4_1" array: array(FLOAT16, dimension=4) },
          StructTypeProto { name: "T" structure: { field: [
            { name: "tiles_0" type: array(struct(type_index=0), dimension=1) },
            { name: "tiles_1" type: array(struct(type_index=1), dimension=1) },
            { name: "tile_shape" constant: tensor(INT64, [1], [4]) },
            { name: "elem_quant_count" constant: tensor(INT32, [], 2) } ] }
            metadata_props: { key: "tessera.shape" value: "8" } } ] })"},
      {"a scale in each tile",
       TESSERA_TILED("scale: stored(FLOAT8E8M0, per=tile, at=after)"),
       {16},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_TILE_8" structure: { field: [
            { name: "values" type: array(UINT4, dimension=8) },
            { name: "scale" type: array(FLOAT8E8M0, dimension=1) })" TESSERA_LINEAR_CONSTANTS TESSERA_NO_ZERO_POINT
       R"( ] }
            metadata_props: { key: "tessera.scale" value: "per=tile, at=after" } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "tiles" type: array(struct(type_index=0), dimension=2) },
            { name: "tile_shape" constant: tensor(INT64, [1], [8]) } ] }
            metadata_props: { key: "tessera.shape" value: "16" } } ] })"},
      {"super-blocks: scales of tiles that are quantized themselves",
       "QuantizationProto { tiling: { tile_shape: [16] elem_quant: [ " TESSERA_TILED(
           "scale: stored(QuantizationProto { linear: { storage_type: UINT8 bits: 6 axis: -1 scale: stored(FLOAT16, "
           "per=tensor) } })") " ] } }",
       {32},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_TILE_16_TILE_8_SCALE" structure: { field: [
            { name: "scale" type: FLOAT16 },
            { name: "values" type: array(UINT8, dimension=2) },
            { name: "storage_type" constant: tensor(INT32, [], UINT8) },
            { name: "bits" constant: tensor(INT32, [], 6) },
            { name: "symmetric" constant: tensor(BOOL, [], false) })" TESSERA_NO_ZERO_POINT R"( ] }
            metadata_props: { key: "tessera.scale" value: "per=tensor, at=before" } },
          StructTypeProto { name: "T_TILE_16_TILE_8" structure: { field: [
            { name: "values" type: array(UINT4, dimension=8) })" TESSERA_LINEAR_CONSTANTS TESSERA_NO_ZERO_POINT R"( ] }
            metadata_props: { key: "tessera.scale" value: "per=tile, at=before" } },
          StructTypeProto { name: "T_TILE_16" structure: { field: [
            { name: "scale" type: struct(type_index=0) },
            { name: "tiles" type: array(struct(type_index=1), dimension=2) },
            { name: "tile_shape" constant: tensor(INT64, [1], [8]) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "tiles" type: array(struct(type_index=2), dimension=2) },
            { name: "tile_shape" constant: tensor(INT64, [1], [16]) } ] }
            metadata_props: { key: "tessera.shape" value: "32" } } ] })"},
      {"blocks with gaps and widths that no type has",
       "QuantizationProto { structured_block: { axis: 1 block_layout: { block_size: 8 bytes_per_block: 8 fields: ["
       "{ role: SCALE bit_offset: 44 bit_width: 16 count: 1 data_type: BFLOAT16 }, { role: VALUES bit_offset: 0 "
       "bit_width: 3 count: 8 },"
       "{ role: BIAS bit_offset: 32 bit_width: 5 count: 2 } ] } } }",
       {2, 16},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_BLOCK" structure: { field: [
            { name: "values" type: array(UINT8, dimension=3) },
            { name: "padding" type: array(UINT8, dimension=1) },
            { name: "bias" type: bit_packing(dimension=2, components=[bias:5]) },
            { name: "padding_1" type: bit_packing(components=[padding:2]) },
            { name: "scale" type: array(BFLOAT16, dimension=1) },
            { name: "padding_2" type: bit_packing(components=[padding:4]) },
            { name: "field_roles" constant: tensor(INT32, [3], [2, 0, 4]) },
            { name: "values_bit_width" constant: tensor(INT32, [], 3) },
            { name: "values_count" constant: tensor(INT32, [], 8) },
            { name: "block_size" constant: tensor(INT32, [], 8) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "blocks" type: array(struct(type_index=0), dimension=4) },
            { name: "axis" constant: tensor(INT32, [], 1) } ] }
            metadata_props: { key: "tessera.shape" value: "2x16" } } ] })"},
      {"blocks field by field",
       "QuantizationProto { structured_block: { storage_order: SEQUENTIAL block_layout: { block_size: 4 "
       "bytes_per_block: 4 fields: ["
       "{ role: CODE bit_offset: 0 bit_width: 4 count: 2 }, { role: SCALE bit_offset: 8 bit_width: 16 count: 1 "
       "data_type: FLOAT16 } ] }"
       "codebook_data: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, "
       "26, 27, 28, 29, 30, 31]"
       "codebook_vector_size: 2 index_formula: [{ field: CODE multiplier: 1 }] scatter: { group_size: 4 vector_size: 2 "
       "stride: 2 } } }",
       {12},
       R"(ModelProto { struct_types: [
          StructTypeProto { name: "T_SCALE" structure: { field: [
            { name: "padding" type: array(UINT8, dimension=1) },
            { name: "scale" type: array(FLOAT16, dimension=1) } ] } },
          StructTypeProto { name: "T" structure: { field: [
            { name: "code" type: array(UINT4, dimensions=[3, 2]) },
            { name: "scale" type: array(struct(type_index=0), dimension=3) },
            { name: "field_roles" constant: tensor(INT32, [2], [6, 2]) },
            { name: "block_size" constant: tensor(INT32, [], 4) },
            { name: "codebook" constant: tensor(FLOAT, [16, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]) },
            { name: "codebook_vector_size" constant: tensor(INT32, [], 2) },
            { name: "index_fields" constant: tensor(INT32, [1], [6]) },
            { name: "index_multipliers" constant: tensor(INT32, [1], [1]) },
            { name: "scatter_group_size" constant: tensor(INT32, [], 4) },
            { name: "scatter_vector_size" constant: tensor(INT32, [], 2) },
            { name: "scatter_stride" constant: tensor(INT32, [], 2) },
            { name: "storage_order" constant: tensor(INT32, [], 1) } ] }
            metadata_props: { key: "tessera.shape" value: "12" } } ] })"},
      {"rotations",
       "QuantizationProto { data_type: FLOAT16 pre_rotation: { matrix_type: HADAMARD dims: [4, 4] } post_rotation: { "
       "type: PLAIN dims: [3] matrix_index: 2 matrix: [1, 2, 3] }"
       "log: { bits: 8 base: 2.0 } }",
       {3, 8},
       R"(StructTypeProto { name: "T" structure: { field: [
            { name: "codes" type: array(UINT8, dimension=24) },
            { name: "bits" constant: tensor(INT32, [], 8) },
            { name: "base" constant: tensor(FLOAT, [], 2.0) },
            { name: "offset" constant: tensor(FLOAT, [], 0.0) },
            { name: "has_sign" constant: tensor(BOOL, [], false) },
            { name: "pre_rotation_type" constant: tensor(INT32, [], 0) },
            { name: "pre_rotation_dims" constant: tensor(INT32, [2], [4, 4]) },
            { name: "post_rotation_type" constant: tensor(INT32, [], 1) },
            { name: "post_rotation_dims" constant: tensor(INT32, [1], [3]) },
            { name: "post_rotation" constant: tensor(FLOAT, [3], [1, 2, 3]) },
            { name: "data_type" constant: tensor(INT32, [], FLOAT16) } ] }
            metadata_props: { key: "tessera.shape" value: "3x8" } })"},
  };
  return cases;
}

TEST(TranslateTest, EachFamilyAsItIsWritten) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Profile profile = ProfileOf(c.profile);
    TranslateOptions options;
    options.spelling.name = "T";
    Result<std::vector<StructType>> types = TranslateProfile(profile, c.shape, options);
    ASSERT_TRUE(types) << types.error().Format();
    EXPECT_EQ(PrintNotation(*types), PrintNotation(TypesOf(c.types)));

    Result<RecoveredProfile> back = RecoverProfile(*types);
    ASSERT_TRUE(back) << back.error().Format();
    EXPECT_EQ(PrintProfile(back->profile), PrintProfile(Resolved(profile)));
    EXPECT_EQ(back->shape, c.shape);
    EXPECT_EQ(back->options.spelling, options.spelling);
  }
}

struct ShapeCase {
  const char* profile;
  std::vector<int64_t> shape;
  ErrorCode code;
  const char* says;  // part of the message
};

TEST(TranslateTest, ShapesThatDoNotFit) {
  const std::vector<ShapeCase> cases = {
      {TESSERA_TILED(""), {2, 6}, ErrorCode::kProfileShape, "8 or 16"},
      {TESSERA_TILED(""), {5}, ErrorCode::kProfileShape, "do not cover"},
      {TESSERA_TILED("scale: stored(FLOAT)"), {-8}, ErrorCode::kProfileShape, "dimension 0 is negative"},
      {TESSERA_TILED(""), {1 << 30, 1 << 30, 1 << 30}, ErrorCode::kProfileShape, "2^63"},
      {"QuantizationProto { tiling: { tile_shape: [2] axes: [1] elem_quant: [ QuantizationProto { cast: { "
       "storage_type: INT8 } } ] } }",
       {4},
       ErrorCode::kProfileShape,
       "axis 1"},
      {"QuantizationProto { tiling: { tile_shape: [3] axes: [0] elem_quant: [ QuantizationProto { cast: { "
       "storage_type: INT8 } } ] } }",
       {4},
       ErrorCode::kProfileShape,
       "axis 0 of size 4"},
      {"QuantizationProto { tiling: { tile_shape: [4] perm: [0, 1] elem_quant: [ QuantizationProto { cast: { "
       "storage_type: INT8 } } ] } }",
       {4},
       ErrorCode::kProfileShape,
       "perm"},
      {"QuantizationProto { tiling: { tile_shape: [4] elem_quant: [ QuantizationProto { cast: { storage_type: INT8 } },"
       "QuantizationProto { cast: { storage_type: INT16 } } ] } }",
       {4},
       ErrorCode::kProfileShape,
       "2 entries for 1 tiles"},
      {"QuantizationProto { linear: { storage_type: INT8 bits: 8 scale: stored(FLOAT, per=channel) axis: 2 } }",
       {4, 4},
       ErrorCode::kProfileShape,
       "axis 2"},
      {"QuantizationProto { codebook: { codebook_data: [1, 2, 3, 4] vector_size: 2 index_bits: 1 } }",
       {3},
       ErrorCode::kProfileShape,
       "vector_size"},
      {"QuantizationProto { codebook: { codebook_data: [...] index_bits: 1 } }",
       {3},
       ErrorCode::kUnbound,
       "codebook_data"},
      {"QuantizationProto { sparse: { base_quant: QuantizationProto { cast: { storage_type: INT8 } } "
       "outlier_data_type: FLOAT } }",
       {3},
       ErrorCode::kProfileShape,
       "how many"},
      {"QuantizationProto { cast: { storage_type: INT8 } pre_rotation: { dims: [8] } }",
       {8, 4},
       ErrorCode::kProfileShape,
       "last axis"},
      {"QuantizationProto { cast: { storage_type: INT8 } post_rotation: { dims: [8] } }",
       {4, 8},
       ErrorCode::kProfileShape,
       "first axis"},
      {"QuantizationProto { cast: { storage_type: INT8 } post_rotation: { dims: [8] } }",
       {},
       ErrorCode::kProfileShape,
       "scalar"},
      {"QuantizationProto { cast: { storage_type: INT8 } pre_rotation: { matrix_type: PLAIN dims: [8] matrix_index: 3 "
       "} }",
       {8},
       ErrorCode::kUnbound,
       "rotation_matrix_3"},
      {"QuantizationProto { structured_block: { block_layout: { block_size: 8 bytes_per_block: 4 fields: [{ role: "
       "VALUES bit_width: 4 count: 8 }] } } }",
       {2, 10},
       ErrorCode::kProfileShape,
       "16 or 24"},
      {"QuantizationProto { structured_block: { axis: 1 block_layout: { block_size: 8 bytes_per_block: 4 fields: [{ "
       "role: VALUES bit_width: 4 count: 8 }] } } }",
       {16, 4},
       ErrorCode::kProfileShape,
       "block_size"},
      {"QuantizationProto { linear: { storage_type: INT8 bits: 13 axis: -1 } }",
       {4},
       ErrorCode::kProfileValue,
       "13 bits"},
      {"QuantizationProto { }", {4}, ErrorCode::kProfileKind, "family"},
  };
  for (const ShapeCase& c : cases) {
    Result<std::vector<StructType>> types = TranslateProfile(ProfileOf(c.profile), c.shape);
    ASSERT_FALSE(types) << c.profile;
    EXPECT_EQ(Info(types.error().code).slug, Info(c.code).slug) << types.error().Format();
    EXPECT_NE(types.error().Format().find(c.says), std::string::npos) << types.error().Format();
    EXPECT_FALSE(types.error().where.empty() && c.code == ErrorCode::kProfileShape) << types.error().Format();
  }
}

TEST(TranslateTest, OutliersAreCountedOrGiven) {
  const Profile profile = ProfileOf(
      "QuantizationProto { sparse: { base_quant: QuantizationProto { cast: { storage_type: INT8 } } outlier_data_type: "
      "FLOAT outlier_ratio: 0.1 } }");
  auto outliers = [&](std::optional<uint64_t> given) -> int64_t {
    TranslateOptions options;
    options.outliers = given;
    Result<std::vector<StructType>> types = TranslateProfile(profile, {{25}}, options);
    if (!types) return -1;
    return static_cast<int64_t>(std::get<ArrayType>(build::TypeOfField(types->back(), 1).kind).dims[0]);
  };
  EXPECT_EQ(outliers(std::nullopt), 3);  // 0.1f is a little over 0.1
  EXPECT_EQ(outliers(0), 0);
  EXPECT_EQ(outliers(25), 25);
  EXPECT_EQ(outliers(26), -1);
}

TEST(TranslateTest, SpellingChoosesNamesAndElementTypes) {
  const Profile profile = ProfileOf(TESSERA_TILED("scale_float: 0.5"));
  TranslateOptions options;
  options.spelling = {
      .name = "ROOT",
      .codes = "blocks",
      .codebook = {},
      .code_type = {},
      .parts = {{.name = "BLOCK", .codes = "q", .codebook = {}, .code_type = ElementType::kUint8, .parts = {}}}};
  Result<std::vector<StructType>> types = TranslateProfile(profile, {{16}}, options);
  ASSERT_TRUE(types) << types.error().Format();
  ASSERT_EQ(types->size(), 2u);
  EXPECT_EQ((*types)[0].Name(), "BLOCK");
  EXPECT_EQ(build::Fields((*types)[0])[0], build::Part("q", build::Array(ElementType::kUint8, {4})));
  EXPECT_EQ(build::Fields((*types)[1])[0], build::Part("blocks", build::Array(build::Ref(0), {2})));
  Result<RecoveredProfile> back = RecoverProfile(*types);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(back->options.spelling, options.spelling);
  EXPECT_EQ(back->profile, Resolved(profile));

  options.spelling.parts[0].code_type = ElementType::kInt8;  // four bits are no INT8
  types = TranslateProfile(profile, {{16}}, options);
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().code, ErrorCode::kProfileValue);
}

// ---- What is no translation

TEST(RecoverTest, TypesThatAreNoProfile) {
  const Profile profile = ProfileOf(TESSERA_TILED("scale: stored(FLOAT16)"));
  const std::vector<StructType> types = *TranslateProfile(profile, {{16}});
  ASSERT_TRUE(RecoverProfile(types));

  auto refused = [&](auto edit) {
    std::vector<StructType> edited = types;
    edit(&edited);
    Result<RecoveredProfile> back = RecoverProfile(edited);
    EXPECT_FALSE(back);
    if (back) return std::string();
    EXPECT_EQ(Info(back.error().code).slug, Info(ErrorCode::kNotAProfile).slug) << back.error().Format();
    return back.error().where;
  };
  std::vector<StructType> copy = types;
  const std::string tile = types[0].Name();
  const std::string root = types[1].Name();
  // fields: scale, values, storage_type, bits, symmetric, zero_point, axis
  EXPECT_EQ(refused([](auto* t) { build::Fields((*t)[0]).erase(build::Fields((*t)[0]).begin() + 3); }), tile + ".bits");
  EXPECT_EQ(refused([](auto* t) {
              build::Fields((*t)[0])[1].name = "zero_point_";
              build::Fields((*t)[0])[0].name = "scales";
            }),
            tile + ".scale");
  EXPECT_EQ(refused([](auto* t) { build::ConstantOfField((*t)[0], 2).bytes[0] = 99; }), tile + ".storage_type");
  EXPECT_EQ(refused([](auto* t) { build::ConstantOfField((*t)[0], 3).bytes[0] = 5; }), root);  // no five bits in UINT4
  EXPECT_EQ(refused([](auto* t) { build::ConstantOfField((*t)[0], 3).bytes[0] = 3; }),
            root);  // nor three
  EXPECT_EQ(refused([](auto* t) { std::swap(build::Fields((*t)[0])[2], build::Fields((*t)[0])[3]); }), tile);
  EXPECT_EQ(refused([](auto* t) { build::Fields((*t)[0]).push_back(build::Part("more", ElementType::kUint8)); }), tile);
  EXPECT_EQ(refused([](auto* t) { build::Fields((*t)[1]).push_back(build::Part("more", ElementType::kUint8)); }), root);
  EXPECT_EQ(refused([](auto* t) { (*t)[0].metadata[0].value = "per=row"; }), tile + ".scale");
  EXPECT_EQ(refused([](auto* t) { (*t)[0].metadata[0].value = "per=channel, at=before"; }), root);
}

TEST(RecoverTest, CyclesAndBadTypesAreTheCheckers) {
  std::vector<StructType> types = {
      build::Structure("A", {build::Part("tiles", build::Ref(1))}),
      build::Structure("B", {build::Part("tiles", build::Ref(0))}),
  };
  Result<RecoveredProfile> back = RecoverProfile(types);
  ASSERT_FALSE(back);
  EXPECT_EQ(Info(back.error().code).slug, Info(ErrorCode::kReferenceCycle).slug) << back.error().Format();
  EXPECT_EQ(RecoverProfile({}).error().code, ErrorCode::kNotAProfile);
}

TEST(RecoverTest, ConstantsInTypedFieldsAreTheSame) {
  std::vector<StructType> types = *TranslateProfile(ProfileOf(TESSERA_TILED("scale_float: 0.5")), {{16}});
  for (Field& field : build::Fields(types[0])) {
    if (auto* constant = std::get_if<Constant>(&field.content)) constant->storage = Constant::Storage::kTyped;
  }
  EXPECT_TRUE(RecoverProfile(types));
}

TEST(RecoverTest, ShapeIsGivenOrWrittenOrEvident) {
  std::vector<StructType> types = *TranslateProfile(ProfileOf(TESSERA_TILED("scale_float: 0.5")), {{4, 8}});
  EXPECT_EQ(RecoverProfile(types)->shape, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(RecoverProfile(types, std::vector<int64_t>{2, 16})->shape, (std::vector<int64_t>{2, 16}));
  EXPECT_FALSE(RecoverProfile(types, std::vector<int64_t>{2, 8}));
  EXPECT_FALSE(RecoverProfile(types, std::vector<int64_t>{-4, 8}));
  types.back().metadata.clear();
  EXPECT_EQ(RecoverProfile(types)->shape, (std::vector<int64_t>{32}));

  types = *TranslateProfile(
      ProfileOf("QuantizationProto { codebook: { codebook_data: [1, 2, 3] packed_count: 5 packed_bytes: 1 } }"),
      {{11}});
  types.back().metadata.clear();
  Result<RecoveredProfile> back = RecoverProfile(types);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kProfileShape);
  EXPECT_EQ(RecoverProfile(types, std::vector<int64_t>{11})->shape, (std::vector<int64_t>{11}));
}

TEST(RecoverTest, PackedFloatsDoNotTellTheShape) {
  std::vector<StructType> types = *TranslateProfile(
      ProfileOf("QuantizationProto { floating_point: { sign_bits: 1, exponent_bits: 3, mantissa_bits: 2, "
                "exponent_bias: 3, packed_count: 4, packed_bytes: 3 } }"),
      {{6}});
  types.back().metadata.clear();
  Result<RecoveredProfile> back = RecoverProfile(types);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kProfileShape);
}

TEST(RecoverTest, DocumentationOfFieldsIsNoProfilesOwn) {
  std::vector<StructType> types = *TranslateProfile(ProfileOf(TESSERA_TILED("scale_float: 0.5")), {{16}});
  build::Fields(types[0])[0].doc_string = "codes";
  Result<RecoveredProfile> back = RecoverProfile(types);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kNotAProfile);
}

std::vector<uint8_t> LittleEndian(uint64_t value, size_t count) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

// Each declaration says "65,536 times the one before": four of them are a list of 2^64 profiles.
TEST(RecoverTest, ListsInListsAreBounded) {
  constexpr uint64_t kMany = 65'536;
  std::vector<StructType> types = {
      build::Structure("LEAF", {build::Part("values", build::Array(ElementType::kInt4, {2}))})};
  uint64_t tile = 2;
  for (int32_t level = 0; level < 3; ++level) {
    types.push_back(build::Structure(
        fmt::format("LEVEL_{}", level),
        {build::Part("tiles_0", build::Array(build::Ref(level), {kMany})),
         build::Const("tile_shape", build::Tensor(ElementType::kInt64, {1}, LittleEndian(tile, 8))),
         build::Const("elem_quant_count", build::Tensor(ElementType::kInt32, {}, LittleEndian(kMany, 4)))}));
    tile *= kMany;
  }
  Result<RecoveredProfile> back = RecoverProfile(types, std::vector<int64_t>{static_cast<int64_t>(tile)});
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kLimitProfile) << back.error().Format();
}

TEST(TranslateTest, ProfilesAreBounded) {
  const Profile profile = ProfileOf("QuantizationProto { codebook: { codebook_data: [1, 2, 3, 4] index_bits: 2 } }");
  Limits limits;
  limits.profile_bytes = sizeof(Profile) + 4 * sizeof(float);
  EXPECT_TRUE(TranslateProfile(profile, {{8}}, {.spelling = {}, .outliers = {}, .limits = limits}));
  const std::vector<StructType> types = *TranslateProfile(profile, {{8}});
  EXPECT_TRUE(RecoverProfile(types, std::nullopt, limits));
  --limits.profile_bytes;
  EXPECT_EQ(TranslateProfile(profile, {{8}}, {.spelling = {}, .outliers = {}, .limits = limits}).error().code,
            ErrorCode::kLimitProfile);
  EXPECT_EQ(RecoverProfile(types, std::nullopt, limits).error().code, ErrorCode::kLimitProfile);
}

TEST(TranslateTest, OptionsThatDoNotFitAreErrors) {
  const Profile tiled = ProfileOf(TESSERA_TILED("scale_float: 0.5"));
  auto code = [&](const TranslateOptions& options) {
    Result<std::vector<StructType>> types = TranslateProfile(tiled, {{16}}, options);
    return types ? std::string_view("none") : Info(types.error().code).slug;
  };
  TranslateOptions options;
  options.outliers = 1;
  EXPECT_EQ(code(options), Info(ErrorCode::kArgument).slug);
  options = {};
  options.spelling.code_type = ElementType::kUint8;  // the tiles have codes, the tiling has none
  EXPECT_EQ(code(options), Info(ErrorCode::kProfileValue).slug);
  options.spelling.code_type.reset();
  for (const char* taken : {"scale", "padding_1", "tile_shape", "post_rotation"}) {
    options.spelling.codes = taken;
    EXPECT_EQ(code(options), Info(ErrorCode::kProfileValue).slug) << taken;
  }
  options.spelling.codes = "weights";
  EXPECT_EQ(code(options), "none");
}

TEST(ShapeTextTest, BothWays) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {7}, {4096, 0, 3}}) {
    EXPECT_EQ(*ParseShapeText(ShapeText(shape)), shape);
  }
  EXPECT_EQ(*ParseShapeText("2,3"), (std::vector<int64_t>{2, 3}));
  for (const char* bad : {"x", "4x", "x4", "-1", "4 x 4", "9223372036854775808", "4x4.0"}) {
    EXPECT_FALSE(ParseShapeText(bad)) << bad;
  }
}

}  // namespace
}  // namespace tessera
