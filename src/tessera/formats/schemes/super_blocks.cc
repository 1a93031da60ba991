#include "tessera/formats/schemes/tables.h"

namespace tessera::schemes {

// As the founding document has them, with one scale and zero point for all sub-blocks. What llama.cpp stores has them
// in the payload, sub-block by sub-block.
std::vector<Scheme> SuperBlocks() {
  return {
      // Two bits in UINT2 would be an array of UINT2; the document declares bytes.
      {.id = "q2_k",
       .title = "Q2_K of llama.cpp, 16 x 16 values",
       .document = "06_q2_k",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [16],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: UINT2, bits: 2, scale_float: 0.005, zero_point: 1, axis: -1 } }]
    } }]
  }
})",
       .spelling = {.name = "Q2_K_TENSOR",
                    .codes = "superblocks",
                    .parts = {{.name = "Q2_K_SUPERBLOCK_256",
                               .codes = "subblocks",
                               .parts = {{.name = "Q2_K_SUBBLOCK_16", .code_type = ElementType::kUint8}}}}}},
      {.id = "q3_k",
       .title = "Q3_K of llama.cpp, 8 x 32 values",
       .document = "07_q3_k",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [32],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: UINT4, bits: 3, scale_float: 0.004, zero_point: 3, axis: -1 } }]
    } }]
  }
})",
       .spelling =
           {.name = "Q3_K_TENSOR",
            .codes = "superblocks",
            .parts = {{.name = "Q3_K_SUPERBLOCK_256", .codes = "subblocks", .parts = {{.name = "Q3_K_SUBBLOCK_32"}}}}}},
      {.id = "q4_k",
       .title = "Q4_K of llama.cpp, 8 x 32 values",
       .document = "08_q4_k",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [32],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: UINT4, bits: 4, scale_float: 0.003, zero_point: 2, axis: -1 } }]
    } }]
  }
})",
       .spelling =
           {.name = "Q4_K_TENSOR",
            .codes = "superblocks",
            .parts = {{.name = "Q4_K_SUPERBLOCK_256", .codes = "subblocks", .parts = {{.name = "Q4_K_SUBBLOCK_32"}}}}}},
      {.id = "q5_k",
       .title = "Q5_K of llama.cpp, 8 x 32 values",
       .document = "09_q5_k",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [32],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: UINT8, bits: 5, scale_float: 0.002, zero_point: 4, axis: -1 } }]
    } }]
  }
})",
       .spelling =
           {.name = "Q5_K_TENSOR",
            .codes = "superblocks",
            .parts = {{.name = "Q5_K_SUPERBLOCK_256", .codes = "subblocks", .parts = {{.name = "Q5_K_SUBBLOCK_32"}}}}}},
      {.id = "q6_k",
       .title = "Q6_K of llama.cpp, 16 x 16 values",
       .document = "10_q6_k",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [16],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: UINT8, bits: 6, scale_float: 0.001, zero_point: 5, axis: -1 } }]
    } }]
  }
})",
       .spelling =
           {.name = "Q6_K_TENSOR",
            .codes = "superblocks",
            .parts = {{.name = "Q6_K_SUPERBLOCK_256", .codes = "subblocks", .parts = {{.name = "Q6_K_SUBBLOCK_16"}}}}}},
  };
}

}  // namespace tessera::schemes
