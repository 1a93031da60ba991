#include "tessera/formats/testing/document_rows.h"

#include "tessera/formats/catalog.h"

namespace tessera {
namespace {

using Kind = DifferenceKind;

std::vector<DocumentRow> BuildRows() {
  const std::vector<DocumentBinding> super_blocks = {{"superblock_count", "elements / 256"}};
  const std::vector<DocumentBinding> blocks_of_16 = {{"block_count", "elements / 16"}};
  const std::vector<DocumentBinding> blocks_of_32 = {{"block_count", "elements / 32"}};
  const std::vector<DocumentBinding> blocks_of_64 = {{"block_count", "elements / 64"}};
  const std::vector<DocumentBinding> blocks_of_128 = {{"block_count", "elements / 128"}};
  const std::vector<DocumentBinding> blocks_of_256 = {{"block_count", "elements / 256"}};
  const std::vector<DocumentBinding> values = {{"N", "elements"}};
  const std::vector<DocumentBinding> exl2 = {{"layer_a_block_count", "elements / 128"},
                                             {"layer_b_block_count", "elements / 128"}};
  const std::vector<DocumentBinding> paretoq = {{"ternary_block_count", "elements / 256"},
                                                {"uint2_block_count", "elements / 128"}};
  return {
      {.id = "int8_symmetric", .example = "01_int8_symmetric", .has_type = false},
      {.id = "int4_symmetric", .example = "02_int4_symmetric"},
      {.id = "int4_asymmetric", .example = "03_int4_asymmetric"},
      {.id = "nf4", .example = "04_nf4", .bindings = {{"packed_byte_count", "elements / 2"}}},
      {.id = "awq_int4", .example = "05_awq_int4", .bindings = blocks_of_128},
      {.id = "q2_k", .example = "06_q2_k", .bindings = super_blocks},
      {.id = "q3_k", .example = "07_q3_k", .bindings = super_blocks},
      {.id = "q4_k", .example = "08_q4_k", .bindings = super_blocks},
      {.id = "q5_k", .example = "09_q5_k", .bindings = super_blocks},
      {.id = "q6_k", .example = "10_q6_k", .bindings = super_blocks},
      {.id = "mxfp4", .example = "11_mxfp4", .bindings = blocks_of_32},
      {.id = "mxfp6_e3m2", .example = "12_mxfp6_e3m2", .bindings = blocks_of_32},
      {.id = "fp6_llm", .example = "13_fp6_llm"},
      {.id = "int8_per_channel", .example = "14_int8_per_channel", .bindings = values},
      {.id = "ternary_1_58",
       .example = "15_1_58_bit_ternary",
       .bindings = {{"packed_byte_count", "ceil_div(elements, 5)"}}},
      {.id = "fp8_e4m3", .example = "16_fp8_e4m3", .bindings = values},
      {.id = "aqlm_2x8",
       .example = "17_aqlm_2_8",
       .bindings = {{"vector_count", "elements / 8"}, {"aqlm_codebook_data", "codebook_data"}}},
      {.id = "iq1_s",
       .example = "18_iq1_s",
       .bindings = {{"block_count", "elements / 256"}, {"iq1_s_e8_codebook", "codebook_data"}}},
      // The ratio of 0.01 is written in the profile.
      {.id = "spqr",
       .example = "19_spqr",
       .bindings = {{"dense_block_count", "elements / 16"}, {"outlier_count", "ceil_div(elements, 100)"}}},
      {.id = "quip_sharp",
       .example = "20_quip",
       .bindings = {{"vector_count", "elements / 8"}, {"quip_sharp_codebook", "codebook_data"}}},
      {.id = "exl2_a", .example = "21_exl2", .bindings = exl2},
      {.id = "exl2_b", .example = "21_exl2", .bindings = exl2, .profile = 1},
      {.id = "log4",
       .example = "22_log_quantization",
       .bindings = {{"N", "elements"}, {"sign_byte_count", "ceil_div(elements, 8)"}}},
      {.id = "custom", .example = "23_custom", .bindings = values},
      {.id = "matmulnbits_int4", .example = "24_matmulnbits_int4"},
      {.id = "block_tiled_floats", .example = "25_block_tiled_floats"},
      {.id = "stq1_0",
       .example = "26_stq1_0",
       .bindings = {{"block_count", "elements / 256"}, {"stq1_0_codebook", "codebook_data"}}},
      {.id = "column_major", .example = "27_column_major_layout", .bindings = {{"M", "rows"}, {"N", "cols"}}},
      {.id = "tq1_0", .example = "28_tq1_0", .bindings = blocks_of_256},
      {.id = "tq2_0", .example = "29_tq2_0", .bindings = blocks_of_256},
      {.id = "bitnet_b1_58", .example = "30_bitnet_b1_58", .bindings = blocks_of_256},
      {.id = "paretoq_ternary", .example = "31_paretoq", .bindings = paretoq},
      {.id = "paretoq_uint2", .example = "31_paretoq", .bindings = paretoq, .profile = 1},
      {.id = "tequila", .example = "32_tequila", .bindings = blocks_of_256},
      {.id = "eetq", .example = "33_eetq", .bindings = values},
      {.id = "exl3", .example = "34_exl3", .bindings = blocks_of_128},
      {.id = "hqq", .example = "35_hqq", .bindings = blocks_of_64},
      {.id = "nvfp4", .example = "36_nvfp4", .bindings = blocks_of_16},
      {.id = "quarot", .example = "37_quarot", .bindings = blocks_of_128},
      {.id = "smoothquant",
       .example = "38_smoothquant",
       .bindings = {{"N", "elements"}, {"smooth_factors", "rotation_matrix_0"}}},
  };
}

std::vector<DifferenceReason> BuildReasons() {
  return {
      {.schemes = {"mxfp4", "mxfp6_e3m2", "nvfp4"},
       .patterns = {{Kind::kProfile, "tiling.elem_quant[0].floating_point.scale"}, {Kind::kMetadata, "tessera.scale"}},
       .why =
           "The struct type has a scale for each block; the document's notation has no word for it. The metadata says "
           "what the field is."},
      {.schemes = {"iq1_s", "tq1_0", "tq2_0", "bitnet_b1_58", "paretoq_ternary", "tequila"},
       .patterns = {{Kind::kProfile, "tiling.elem_quant[0].codebook.scale"}, {Kind::kMetadata, "tessera.scale"}},
       .why =
           "The struct type has a scale for each block; the document's notation has no word for it. The metadata says "
           "what the field is."},
      {.schemes = {"tq2_0"},
       .patterns = {{Kind::kProfile, "tiling.elem_quant[0].codebook.index_bits"}},
       .why =
           "The document says two bits a value with a state unused, which is `index_bits` 2. With 0 the four values of "
           "a byte would be digits of base 3."},
      {.schemes = {"tq1_0", "tq2_0", "bitnet_b1_58", "paretoq_ternary", "tequila"},
       .patterns = {{Kind::kConstantOnlyOurs, "num_codebooks"},
                    {Kind::kConstantOnlyOurs, "codebook_size"},
                    {Kind::kConstantOnlyOurs, "vector_size"},
                    {Kind::kConstantOnlyOurs, "index_bits"}},
       .why =
           "The template of the family, NF4 and the other ternary scheme have them. Without `index_bits` two bits and "
           "base 3 look the same."},
      {.schemes = {"fp6_llm"},
       .patterns = {{Kind::kDeclarationOnlyOurs, "FP6_LLM"}, {Kind::kConstantMissing, "tile_shape"}},
       .why =
           "The document's last declaration is one tile. A tensor is many; `tile_shape` stands with their array, as in "
           "every other scheme."},
      {.schemes = {"matmulnbits_int4"},
       .patterns = {{Kind::kProfile, "tiling.elem_quant[0].linear.scale"},
                    {Kind::kProfile, "tiling.elem_quant[0].linear.axis"},
                    {Kind::kConstantMissing, "scale"},
                    {Kind::kFieldOnlyOurs, "scale"},
                    {Kind::kConstantValue, "axis"},
                    {Kind::kMetadata, "tessera.scale"}},
       .why =
           "A scale of 0 makes every value 0, and is an error. MatMulNBits has a scale for each 32 values of a column, "
           "which are the columns of a tile."},
      {.schemes = {"matmulnbits_int4"},
       .patterns = {{Kind::kDims, "values"}},
       .why = "`perm` holds for the grid and inside a tile alike, and dimensions are written in memory order. The "
              "document permutes the grid of this scheme, but not its tiles."},
      {.schemes = {"block_tiled_floats", "column_major"},
       .patterns = {{Kind::kMetadata, "tessera.data_type"}},
       .why =
           "A Cast is a bare array, which has no place for a constant `data_type`. Without it the declaration does not "
           "say to what values are cast back."},
      {.schemes = {"column_major"},
       .patterns = {{Kind::kDims, "FLOAT_MATRIX_MXN"}},
       .why =
           "Dimensions are written in memory order, as those of the grid of MatMulNBits are. As [M, N] the array would "
           "be read row by row."},
  };
}

}  // namespace

std::span<const DocumentRow> DocumentRows() {
  static const std::vector<DocumentRow> rows = BuildRows();
  return rows;
}

const DocumentRow* FindDocumentRow(std::string_view id) {
  for (const DocumentRow& row : DocumentRows()) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

std::string SketchName(const DocumentRow& row) { return "sketch." + std::string(row.id); }

const Format* SketchOf(const DocumentRow& row) {
  const std::string name = SketchName(row);
  for (const Format& format : AllFormats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::span<const DifferenceReason> DifferenceReasons() {
  static const std::vector<DifferenceReason> reasons = BuildReasons();
  return reasons;
}

}  // namespace tessera
