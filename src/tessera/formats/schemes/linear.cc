#include "tessera/formats/schemes/tables.h"

namespace tessera::schemes {

std::vector<Scheme> Linear() {
  return {
      {.id = "int8_symmetric",
       .title = "INT8, one scale",
       .document = "01_int8_symmetric",
       .profile = R"(
QuantizationProto {
  linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.02, axis: -1 }
})",
       .spelling = {.name = "INT8_SYMMETRIC"}},
      {.id = "int4_symmetric",
       .title = "INT4, one scale",
       .document = "02_int4_symmetric",
       .profile = R"(
QuantizationProto {
  linear: LinearUniformProto { storage_type: INT4, bits: 4, symmetric: true, scale_float: 0.02, axis: -1 }
})",
       .shape = {1024},
       .spelling = {.name = "INT4_SYMMETRIC_1024"}},
      {.id = "int4_asymmetric",
       .title = "INT4 with zero points, groups of 128 (GPTQ)",
       .document = "03_int4_asymmetric",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.015, zero_point: 8, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.012, zero_point: 7, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.014, zero_point: 8, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.013, zero_point: 8, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.016, zero_point: 7, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.011, zero_point: 8, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.015, zero_point: 9, axis: -1 } },
      QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 4, scale_float: 0.012, zero_point: 8, axis: -1 } }
    ]
  }
})",
       .shape = {1024},
       .spelling = {.name = "GPTQ_INT4_1024_GROUP128"}},
      {.id = "awq_int4",
       .title = "INT4 with zero points, blocks of 128 (AWQ)",
       .document = "05_awq_int4",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: INT4, bits: 4, scale_float: 0.01, zero_point: 8, axis: -1 } }]
  }
})",
       .spelling = {.name = "AWQ_INT4_TILES", .codes = "blocks", .parts = {{.name = "AWQ_INT4_BLOCK_128"}}}},
      {.id = "int8_per_channel",
       .title = "INT8, channels along axis 0",
       .document = "14_int8_per_channel",
       .profile = R"(
QuantizationProto {
  linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.03, axis: 0 }
})",
       .spelling = {.name = "INT8_PER_CHANNEL"}},
      {.id = "fp8_e4m3",
       .title = "FLOAT8E4M3FN, one scale",
       .document = "16_fp8_e4m3",
       .profile = R"(
QuantizationProto {
  linear: LinearUniformProto { storage_type: FLOAT8E4M3FN, bits: 8, symmetric: true, scale_float: 1.0, axis: -1 }
})",
       .spelling = {.name = "FP8_E4M3_PER_TENSOR"}},
      {.id = "exl2_a",
       .title = "EXL2, a layer with 2 bits",
       .document = "21_exl2",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: INT4, bits: 2, scale_float: 0.005, zero_point: 2, axis: -1 } }]
  }
})",
       .spelling = {.name = "EXL2_LAYER_A", .codes = "blocks", .parts = {{.name = "EXL2_INT2_BLOCK_128"}}}},
      {.id = "exl2_b",
       .title = "EXL2, a layer with 4 bits",
       .document = "21_exl2",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: INT4, bits: 4, scale_float: 0.01, zero_point: 8, axis: -1 } }]
  }
})",
       .spelling = {.name = "EXL2_LAYER_B", .codes = "blocks", .parts = {{.name = "EXL2_INT4_BLOCK_128"}}}},
      // A tile's columns are the channels: onnxruntime keeps a scale for each 32 values of a column.
      {.id = "matmulnbits_int4",
       .title = "MatMulNBits of onnxruntime, UINT4 in tiles of 32 x 128",
       .document = "24_matmulnbits_int4",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [32, 128],
    axes: [0, 1],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: UINT4, bits: 4, symmetric: true, scale: stored(FLOAT, per=channel, at=after), axis: 1 } }],
    perm: [1, 0]
  }
})",
       .spelling = {.name = "MATMUL_NBITS_INT4_4096X4096", .parts = {{.name = "MATMUL_NBITS_INT4_TILE_32X128"}}}},
      {.id = "paretoq_uint2",
       .title = "ParetoQ with four levels",
       .document = "31_paretoq",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: UINT8, bits: 2, scale_float: 0.023, zero_point: 1, axis: -1 } }]
  }
})",
       .spelling = {.name = "PARETOQ_UINT2", .codes = "blocks", .parts = {{.name = "PARETOQ_UINT2_BLOCK_128"}}}},
      {.id = "eetq",
       .title = "EETQ, INT8 per output channel",
       .document = "33_eetq",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.0042, axis: 0 }
})",
       .spelling = {.name = "EETQ_INT8_PER_CHANNEL"}},
      {.id = "exl3",
       .title = "EXL3, a layer with 3 bits",
       .document = "34_exl3",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: UINT8, bits: 3, scale_float: 0.015, zero_point: 4, axis: -1 } }]
  }
})",
       .spelling = {.name = "EXL3_LAYER", .codes = "blocks", .parts = {{.name = "EXL3_UINT3_BLOCK_128"}}}},
      {.id = "hqq",
       .title = "HQQ, 2 bits in groups of 64",
       .document = "35_hqq",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  tiling: TilingQuantizationProto {
    tile_shape: [64],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: UINT8, bits: 2, scale_float: 0.032, zero_point: 2, axis: -1 } }]
  }
})",
       .spelling = {.name = "HQQ_HEAD", .codes = "blocks", .parts = {{.name = "HQQ_UINT2_BLOCK_64"}}}},
  };
}

}  // namespace tessera::schemes
