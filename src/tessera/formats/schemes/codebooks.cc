#include "tessera/formats/schemes/tables.h"

namespace tessera::schemes {

std::vector<Scheme> Codebooks() {
  return {
      {.id = "nf4",
       .title = "NF4 of QLoRA",
       .document = "04_nf4",
       .profile = R"(
QuantizationProto {
  codebook: CodebookProto {
    scale_float: 1.0,
    codebook_data: [-1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
                    0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0],
    packed_count: 2, packed_bytes: 1
  }
})",
       .spelling = {.name = "NF4"}},
      {.id = "ternary_1_58",
       .title = "Ternary, five values in a byte",
       .document = "15_1_58_bit_ternary",
       .profile = R"(
QuantizationProto {
  codebook: CodebookProto { scale_float: 0.5, codebook_data: [-1.0, 0.0, 1.0], packed_count: 5, packed_bytes: 1 }
})",
       .spelling = {.name = "TERNARY_1_58"}},
      {.id = "aqlm_2x8",
       .title = "AQLM, two codebooks of 256 vectors",
       .document = "17_aqlm_2_8",
       .profile = R"(
QuantizationProto {
  codebook: CodebookProto {
    num_codebooks: 2, codebook_size: 256, vector_size: 8, index_bits: 8, codebook_data: [...]
  }
})",
       .spelling = {.name = "AQLM_2X8", .codebook = "codebooks"},
       .data = {{"codebook_data", 4096}}},
      {.id = "iq1_s",
       .title = "IQ1_S of llama.cpp, 11-bit indices",
       .document = "18_iq1_s",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      num_codebooks: 1, codebook_size: 2048, vector_size: 8, index_bits: 11, codebook_data: [...],
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "IQ1_S_TILES", .codes = "blocks", .parts = {{.name = "IQ1_S_BLOCK_256"}}},
       .data = {{"codebook_data", 16384}}},
      {.id = "stq1_0",
       .title = "STQ1_0 (Sherry): codes, signs and a scale in 42 bytes",
       .document = "26_stq1_0",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT,
  structured_block: StructuredBlockUniformProto {
    block_layout: BlockLayoutProto {
      block_size: 256, bytes_per_block: 42,
      fields: [
        BlockFieldProto { role: CODE, bit_offset: 0, bit_width: 4, count: 64 },
        BlockFieldProto { role: SIGN, bit_offset: 256, bit_width: 1, count: 64 },
        BlockFieldProto { role: SCALE, bit_offset: 320, bit_width: 16, count: 1, data_type: FLOAT16 }
      ]
    },
    codebook_data: [...],
    codebook_vector_size: 4,
    index_formula: [
      FieldWeightProto { field: CODE, multiplier: 1 },
      FieldWeightProto { field: SIGN, multiplier: 16 }
    ],
    scatter: ScatterProto { group_size: 64, vector_size: 4, stride: 16 }
  }
})",
       .spelling = {.name = "STQ1_0", .parts = {{.name = "STQ1_0_BLOCK_256"}}},
       .data = {{"codebook_data", 128}}},
      {.id = "tq1_0",
       .title = "TQ1_0 of llama.cpp: ternary, five in a byte",
       .document = "28_tq1_0",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      codebook_data: [-1.0, 0.0, 1.0], packed_count: 5, packed_bytes: 1,
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "TQ1_0", .codes = "blocks", .parts = {{.name = "TQ1_0_BLOCK_256"}}}},
      {.id = "tq2_0",
       .title = "TQ2_0 of llama.cpp: ternary, two bits each",
       .document = "29_tq2_0",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      codebook_data: [-1.0, 0.0, 1.0], packed_count: 4, packed_bytes: 1, index_bits: 2,
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "TQ2_0", .codes = "blocks", .parts = {{.name = "TQ2_0_BLOCK_256"}}}},
      {.id = "bitnet_b1_58",
       .title = "BitNet b1.58",
       .document = "30_bitnet_b1_58",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      codebook_data: [-1.0, 0.0, 1.0], packed_count: 5, packed_bytes: 1,
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "BITNET_B1_58", .codes = "blocks", .parts = {{.name = "BITNET_B1_58_BLOCK_256"}}}},
      {.id = "paretoq_ternary",
       .title = "ParetoQ with three levels",
       .document = "31_paretoq",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      codebook_data: [-1.0, 0.0, 1.0], packed_count: 5, packed_bytes: 1,
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "PARETOQ_TERNARY", .codes = "blocks", .parts = {{.name = "PARETOQ_TERNARY_BLOCK_256"}}}},
      {.id = "tequila",
       .title = "Tequila",
       .document = "32_tequila",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [256],
    elem_quant: [QuantizationProto { codebook: CodebookProto {
      codebook_data: [-1.0, 0.0, 1.0], packed_count: 5, packed_bytes: 1,
      scale: stored(FLOAT16, per=tile, at=after) } }]
  }
})",
       .spelling = {.name = "TEQUILA", .codes = "blocks", .parts = {{.name = "TEQUILA_BLOCK_256"}}}},
  };
}

}  // namespace tessera::schemes
