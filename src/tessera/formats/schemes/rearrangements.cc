#include "tessera/formats/schemes/tables.h"

namespace tessera::schemes {

std::vector<Scheme> Rearrangements() {
  return {
      {.id = "spqr",
       .title = "SpQR: 3 bits in blocks of 16, and outliers",
       .document = "19_spqr",
       .profile = R"(
QuantizationProto {
  sparse: SparseQuantizationProto {
    base_quant: QuantizationProto { tiling: TilingQuantizationProto {
      tile_shape: [16],
      elem_quant: [QuantizationProto { linear: LinearUniformProto {
        storage_type: INT4, bits: 3, scale_float: 0.01, zero_point: 4, axis: -1 } }]
    } },
    outlier_data_type: FLOAT16, outlier_threshold: 6.0, outlier_ratio: 0.01
  }
})",
       .spelling =
           {.name = "SPQR",
            .parts = {{.name = "SPQR_DENSE_TILES", .codes = "blocks", .parts = {{.name = "SPQR_INT3_BLOCK_16"}}}}}},
      {.id = "quip_sharp",
       .title = "QuIP#: vectors of 8 between two Hadamard rotations",
       .document = "20_quip",
       .profile = R"(
QuantizationProto {
  codebook: CodebookProto {
    num_codebooks: 1, codebook_size: 256, vector_size: 8, index_bits: 8, codebook_data: [...]
  },
  pre_rotation: RotationProto { matrix_type: HADAMARD, dims: [4096, 4096] },
  post_rotation: RotationProto { matrix_type: HADAMARD, dims: [4096, 4096] }
})",
       .spelling = {.name = "QUIP_SHARP"},
       .data = {{"codebook_data", 2048}}},
      {.id = "log4",
       .title = "Powers of two, 4 bits and a sign",
       .document = "22_log_quantization",
       .profile = R"(
QuantizationProto {
  log: LogUniformProto { bits: 4, base: 2.0, offset: -7.0, has_sign: true }
})",
       .spelling = {.name = "LOG4"}},
      {.id = "custom",
       .title = "Operators of a vendor",
       .document = "23_custom",
       .profile = R"(
QuantizationProto {
  function: FunctionUniformProto {
    storage_type: UINT4, bits: 4, quantize_op: "vendor::QuantizeV2", dequantize_op: "vendor::DequantizeV2"
  }
})",
       .spelling = {.name = "VENDOR_QUANTIZE_V2"}},
      {.id = "block_tiled_floats",
       .title = "FLOAT in tiles of 32 x 128",
       .document = "25_block_tiled_floats",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [32, 128],
    axes: [0, 1],
    elem_quant: [QuantizationProto { data_type: FLOAT, cast: CastUniformProto { storage_type: FLOAT } }]
  }
})",
       .spelling = {.name = "BLOCK_TILED_FLOAT_4096X4096", .parts = {{.name = "FLOAT_TILE_32X128"}}}},
      {.id = "column_major",
       .title = "FLOAT, column by column",
       .document = "27_column_major_layout",
       .profile = R"(
QuantizationProto {
  tiling: TilingQuantizationProto {
    tile_shape: [0, 0],
    axes: [0, 1],
    elem_quant: [QuantizationProto { data_type: FLOAT, cast: CastUniformProto { storage_type: FLOAT } }],
    perm: [1, 0]
  }
})",
       // Not square, so that rows and columns cannot be confused.
       .shape = {4096, 1024},
       .spelling = {.name = "COLUMN_MAJOR_FLOAT_MXN", .parts = {{.name = "FLOAT_MATRIX_MXN"}}}},
      // Four bits in UINT8 would be bytes; the document declares an array of UINT4.
      {.id = "quarot",
       .title = "QuaRot: 4 bits behind a Hadamard rotation",
       .document = "37_quarot",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT16,
  pre_rotation: RotationProto { matrix_type: HADAMARD, dims: [4096] },
  tiling: TilingQuantizationProto {
    tile_shape: [128],
    elem_quant: [QuantizationProto { linear: LinearUniformProto {
      storage_type: UINT8, bits: 4, symmetric: true, scale_float: 0.018, axis: -1 } }]
  }
})",
       .spelling = {.name = "QUAROT",
                    .codes = "blocks",
                    .parts = {{.name = "QUAROT_UINT4_BLOCK_128", .code_type = ElementType::kUint4}}}},
      {.id = "smoothquant",
       .title = "SmoothQuant: INT8 behind a diagonal",
       .document = "38_smoothquant",
       .profile = R"(
QuantizationProto {
  data_type: FLOAT,
  pre_rotation: RotationProto { matrix_type: PLAIN, dims: [4096], matrix_index: 0 },
  linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, scale_float: 0.0042, axis: 1 }
})",
       .spelling = {.name = "SMOOTHQUANT_INT8"},
       .data = {{"rotation_matrix_0", 4096}}},
  };
}

}  // namespace tessera::schemes
