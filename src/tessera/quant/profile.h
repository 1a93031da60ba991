// Quantization profiles: the compact notation of the founding document (QuantizationProto and its nine families) as
// plain values. A profile says how the values of a tensor become codes; together with a logical shape it is translated
// to struct types (translate.h), which is what files hold. Profiles are parsed and printed (profile_text.h), checked
// (validate.h) and translated, never serialized.
//
// This header is the one to read first in quant/. Plain values; a profile that is const may be read from many threads.
// Field names, defaults and meanings are those of the founding document unless a comment says "extension". Numbers keep
// the document's signed types, so that what is out of range can be held and reported: nothing here is checked yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/types/constant.h"
#include "tessera/types/element_type.h"

namespace tessera {

struct Profile;

// ---- Parameters that may stand in the payload

// Extension. A parameter whose values are serialized, one for each tile, channel or the whole tensor:
//   scale: stored(FLOAT16, per=tile, at=before)
// The founding document says that such parameters are "serialized array fields when they vary by channel or block", but
// its notation has no word for it.
struct Stored {
  enum class Per : uint8_t {
    kTile,     // one value for each tile of the innermost Tiling around it; an error where there is none
    kChannel,  // one for each index of the profile's axis (Linear; axis 0 for the other families)
    kTensor,   // one for the whole value
  };
  enum class At : uint8_t { kBefore, kAfter };  // the codes

  // How the values are stored: an element type, whose numbers are the values, or a profile that quantizes the tensor of
  // all these values (super-blocks). That tensor's shape is the tile grid of the Tiling around (per tile), the number
  // of channels, or 1; "tensor" and "tile" inside the profile mean this tensor and its tiles.
  std::variant<ElementType, Box<Profile>> type = ElementType::kUndefined;
  Per per = Per::kTile;
  At at = At::kBefore;
  bool operator==(const Stored& other) const;
};

// The oneof of the document (scale_float, scale_int: 2^scale_int) and the extension; absent is 1.
struct ScaleExponent {
  int32_t exponent = 0;
  bool operator==(const ScaleExponent&) const = default;
};
using Scale = std::variant<std::monostate, float, ScaleExponent, Stored>;
using ZeroPoint = std::variant<int64_t, Stored>;

// Data of a codebook or a matrix. `parameter` names a template parameter that has no value yet (`[...]` in the text,
// whose name is that of the field); such a profile can be printed but not translated.
struct FloatData {
  std::vector<float> values;
  std::string parameter;
  bool operator==(const FloatData& other) const;
};

// ---- The nine families

// value = (code - zero_point) * scale. Codes are signed or unsigned as storage_type is, and clipped to `bits` of it.
struct LinearProfile {
  ElementType storage_type = ElementType::kUndefined;
  int32_t bits = 0;        // 1 .. width of storage_type; equal to it for a float type
  bool symmetric = false;  // zero_point is 0
  Scale scale;
  ZeroPoint zero_point = int64_t{0};
  int32_t axis = 0;  // of channels; -1: none. It matters where something is stored per channel
  bool operator==(const LinearProfile& other) const;
};

// value = scale * sum over k of codebook[k][index[k]]: num_codebooks x codebook_size x vector_size floats, row-major.
// Indices are packed vector by vector, those of one vector from codebook 0 up: as index_bits each, from the least
// significant bit (index_bits > 0), or as digits of base codebook_size, the first in the least significant digit
// (index_bits 0). A group of packed_count indices takes packed_bytes bytes; unused bits and digits are zero on writing
// and ignored on reading. Both 0: one group of all indices, for which index_bits has to be given.
struct CodebookProfile {
  Scale scale;
  FloatData codebook_data;
  int32_t packed_count = 0;
  int32_t packed_bytes = 0;
  int32_t num_codebooks = 0;  // 0 means 1
  int32_t codebook_size = 0;  // 0 means infer: values / (num_codebooks * vector_size)
  int32_t vector_size = 0;    // 0 means 1
  int32_t index_bits = 0;     // 0 means base-N packing
  bool operator==(const CodebookProfile& other) const;
};

// Codes of sign, exponent and mantissa, from the most significant bit down:
//   (-1)^sign * 2^(exponent - bias) * (1 + mantissa / 2^mantissa_bits), exponent 0: subnormal, as IEEE 754 has it.
// has_inf and has_nan: the top exponent holds infinity (mantissa 0) and NaN, as IEEE 754; one of them alone: the code
// with all exponent and mantissa bits set is that value; neither: every code is a number.
struct FloatingPointProfile {
  int32_t sign_bits = 0;
  int32_t exponent_bits = 0;
  int32_t mantissa_bits = 0;
  int32_t exponent_bias = 0;
  bool has_inf = false;
  bool has_nan = false;
  bool split_storage = false;  // in each group: the sign+exponent parts of all codes, then all mantissas
  int32_t packed_count = 0;    // values of a group; 0: one group of all values, without padding
  int32_t packed_bytes = 0;
  Scale scale;  // extension
  bool operator==(const FloatingPointProfile& other) const;
};

// A base and outliers that replace single values of it: (INT64 position in the flattened tensor, value).
struct SparseProfile {
  Box<Profile> base_quant;
  ElementType outlier_data_type = ElementType::kUndefined;
  float outlier_threshold = 0;
  float outlier_ratio = 0;
  bool operator==(const SparseProfile& other) const;
};

// value = sign * base^(code + offset); the signs are a plane of their own, one bit a value (1 is negative).
struct LogProfile {
  int32_t bits = 0;
  float base = 0;
  float offset = 0;
  bool has_sign = false;
  bool operator==(const LogProfile& other) const;
};

enum class BlockFieldRole : int32_t {
  kValues = 0,
  kSign = 1,
  kScale = 2,
  kZeroPoint = 3,
  kBias = 4,
  kExponent = 5,
  kCode = 6,
  kMask = 7,
};
// "VALUES" for kValues, ...; nullopt for a number or name that is none.
std::string_view Name(BlockFieldRole role);
std::optional<BlockFieldRole> BlockFieldRoleFromName(std::string_view name);
std::optional<BlockFieldRole> BlockFieldRoleFromNumber(int64_t number);

struct BlockField {
  BlockFieldRole role = BlockFieldRole::kValues;
  int32_t bit_offset = 0;  // in the block (INTERLEAVED) or in the field's record (SEQUENTIAL)
  int32_t bit_width = 0;
  int32_t count = 0;
  // UNDEFINED (0): raw unsigned bits, which is what UINT2, UINT4, UINT8, ... say too.
  ElementType data_type = ElementType::kUndefined;
  bool operator==(const BlockField&) const = default;
};

struct BlockLayout {
  int32_t block_size = 0;       // logical values of a block
  int32_t bytes_per_block = 0;  // bytes of a block
  std::vector<BlockField> fields;
  bool operator==(const BlockLayout&) const = default;
};

// Codes that two custom operators convert; the library only stores them.
struct FunctionProfile {
  ElementType storage_type = ElementType::kUndefined;
  int32_t bits = 0;
  std::string quantize_op;    // "domain::Op"
  std::string dequantize_op;  // "domain::Op"
  std::optional<BlockLayout> block_layout;
  bool operator==(const FunctionProfile&) const = default;
};

// Tiles of a tensor, each quantized by its own profile.
//   axes empty: tile_shape is one number, the tiles are runs of the flattened tensor.
//   axes given: tile_shape[i] is the tile's size along axes[i], 0 means the whole axis; axes that are not listed are
//               not divided.
//   perm:         the tensor's axes from the outermost to the innermost in memory, for the grid of tiles and inside a
//                 tile alike; for a flattened tensor, the order in which it is flattened. Empty: as the Tiling around
//                 it, or row-major.
// Tile i, counted in memory order, has profile elem_quant[i % size]. Tiles cover the tensor exactly.
struct TilingProfile {
  std::vector<int64_t> tile_shape;
  std::vector<int32_t> axes;
  std::vector<Profile> elem_quant;
  std::vector<int32_t> perm;
  bool operator==(const TilingProfile& other) const;
};

// Values converted to another element type.
struct CastProfile {
  ElementType storage_type = ElementType::kUndefined;
  bool operator==(const CastProfile&) const = default;
};

struct FieldWeight {
  BlockFieldRole field = BlockFieldRole::kValues;
  int32_t multiplier = 0;
  bool operator==(const FieldWeight&) const = default;
};

// Codeword g of a block goes to values group_size * chunk + lane + stride * p of the block (p < vector_size), where
// chunk and lane are quotient and remainder of g by group_size / vector_size.
struct Scatter {
  int32_t group_size = 0;
  int32_t vector_size = 0;
  int32_t stride = 0;
  bool operator==(const Scatter&) const = default;
};

enum class BlockStorageOrder : int32_t { kInterleaved = 0, kSequential = 1 };

// Blocks of named fields at known bit offsets, each role once:
//   value = mask * (sign * (code - zero_point) * scale * 2^exponent + bias)
// where code is VALUES, or codebook[sum of fields * multipliers]. Scales, exponents, zero points and biases with
// several elements divide the block into as many equal runs of values; an absent one is 1, 0, 0 and 0. A SIGN (1 is
// negative) or a MASK (0 makes the value 0) that is in no formula has one bit for each value.
struct StructuredBlockProfile {
  BlockLayout block_layout;
  FloatData codebook_data;  // empty: VALUES are the codes
  int32_t codebook_vector_size = 0;
  std::vector<FieldWeight> index_formula;
  std::optional<Scatter> scatter;
  BlockStorageOrder storage_order = BlockStorageOrder::kInterleaved;
  std::optional<int32_t> axis;  // blocks run along it; absent: through the flattened tensor
  bool operator==(const StructuredBlockProfile&) const = default;
};

// ---- The profile

enum class RotationType : int32_t { kHadamard = 0, kPlain = 1 };

// A matrix that the tensor, as rows and columns, is multiplied with: pre_rotation on the side of the last axis,
// post_rotation on the side of the first.
//   HADAMARD: the Sylvester matrix of size n = dims.back(), a power of two, divided by sqrt(n), over consecutive blocks
//             of n entries of that axis. It is its own inverse.
//   PLAIN:    dims [n] is a diagonal, [n, n] a matrix, row-major; n is the axis's size.
struct Rotation {
  RotationType matrix_type = RotationType::kHadamard;
  std::vector<int32_t> dims;
  std::optional<int32_t> matrix_index;  // into ModelProto.rotation_matrices; resolved by giving `matrix`
  FloatData matrix;                     // extension: the data of a PLAIN rotation in place
  bool operator==(const Rotation&) const = default;
};

// Equality is that of the fields, of floats that of their bits: a NaN, which validation refuses, equals itself, and 0
// is not -0.
struct Profile {
  // The alternatives stand in the order of kFamilyNames. The monostate is a profile without a family, which
  // validation rejects.
  using Kind = std::variant<std::monostate, LinearProfile, CodebookProfile, FloatingPointProfile, SparseProfile,
                            LogProfile, FunctionProfile, TilingProfile, CastProfile, StructuredBlockProfile>;
  Kind kind;
  std::optional<ElementType> data_type;  // of the decoded values; absent means FLOAT
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;
  std::optional<Rotation> pre_rotation;  // decoding multiplies the dequantized values with both
  std::optional<Rotation> post_rotation;
  bool operator==(const Profile&) const = default;
};

// The names of a family in the notation, in the order of Profile::Kind without the monostate.
struct FamilyNames {
  std::string_view field;    // of QuantizationProto: "linear"
  std::string_view message;  // "LinearUniformProto"
};
inline constexpr FamilyNames kFamilyNames[] = {
    {"linear", "LinearUniformProto"},
    {"codebook", "CodebookProto"},
    {"floating_point", "FloatingPointUniformProto"},
    {"sparse", "SparseQuantizationProto"},
    {"log", "LogUniformProto"},
    {"function", "FunctionUniformProto"},
    {"tiling", "TilingQuantizationProto"},
    {"cast", "CastUniformProto"},
    {"structured_block", "StructuredBlockUniformProto"},
};
static_assert(std::size(kFamilyNames) + 1 == std::variant_size_v<Profile::Kind>);
// REQUIRES: the profile has a family.
inline const FamilyNames& NamesOf(const Profile& profile) { return kFamilyNames[profile.kind.index() - 1]; }

// The same meaning with nothing left to infer, which is what a translation and back gives: num_codebooks, vector_size
// and codebook_size of codebooks are set (where they can be inferred), matrix_index is gone where a matrix has its
// data, and the data_type of a block's field that is just unsigned bits is UNDEFINED. Goes through all nested profiles.
Profile Resolved(const Profile& profile);

}  // namespace tessera
