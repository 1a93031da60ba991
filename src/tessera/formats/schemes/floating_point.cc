#include "tessera/formats/schemes/tables.h"

namespace tessera::schemes {

std::vector<Scheme> FloatingPoint() {
  return {
      {.id = "mxfp4",
       .title = "MXFP4: E2M1, a power of two for each 32",
       .document = "11_mxfp4",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [32],
    elem_quant: [QuantizationProto { floating_point: FloatingPointUniformProto {
      sign_bits: 1, exponent_bits: 2, mantissa_bits: 1, exponent_bias: 1,
      packed_count: 2, packed_bytes: 1,
      scale: stored(FLOAT8E8M0, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "MXFP4_TILES", .codes = "blocks", .parts = {{.name = "MXFP4_E2M1_BLOCK_32"}}}},
      {.id = "mxfp6_e3m2",
       .title = "MXFP6: E3M2, a power of two for each 32",
       .document = "12_mxfp6_e3m2",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [32],
    elem_quant: [QuantizationProto { floating_point: FloatingPointUniformProto {
      sign_bits: 1, exponent_bits: 3, mantissa_bits: 2, exponent_bias: 3,
      packed_count: 4, packed_bytes: 3,
      scale: stored(FLOAT8E8M0, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "MXFP6_E3M2_TILES",
                    .codes = "blocks",
                    .parts = {{.name = "MXFP6_E3M2_BLOCK_32", .code_type = ElementType::kUint8}}}},
      {.id = "fp6_llm",
       .title = "FP6-LLM: E3M2 with mantissas apart (TC-FPn)",
       .document = "13_fp6_llm",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { floating_point: FloatingPointUniformProto {
      sign_bits: 1, exponent_bits: 3, mantissa_bits: 2, exponent_bias: 3,
      split_storage: true, packed_count: 4, packed_bytes: 3 } }]
  }
})",
       .spelling = {.name = "FP6_LLM", .parts = {{.name = "FP6_LLM_TILE_128", .parts = {{.name = "FLOAT6_E3M2"}}}}}},
      {.id = "nvfp4",
       .title = "NVFP4: E2M1, an E4M3 scale for each 16",
       .document = "36_nvfp4",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [16],
    elem_quant: [QuantizationProto { floating_point: FloatingPointUniformProto {
      sign_bits: 1, exponent_bits: 2, mantissa_bits: 1, exponent_bias: 1,
      packed_count: 2, packed_bytes: 1,
      scale: stored(FLOAT8E4M3FN, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "NVFP4", .codes = "blocks", .parts = {{.name = "NVFP4_E2M1_BLOCK_16"}}}},
  };
}

}  // namespace tessera::schemes
