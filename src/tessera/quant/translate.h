// Profile + logical shape -> struct types, and back. The founding document gives each family's translation as a
// template; this makes it concrete. Nothing is lost: every parameter becomes a serialized field, a constant field or
// metadata, and RecoverProfile reads it back.
//
// A declaration has its fields in this order: parameters stored before the codes, the codes (or tiles, blocks), what is
// stored after them, `padding` to whole bytes, then the constants: the family's in the document's order,
// pre_rotation_*, post_rotation_*, data_type where the profile has one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// What a translation may choose and a profile does not say: names, and in which element type codes are declared that
// could be in several. It changes no byte of a value. A tree like the profile's; what is empty is chosen by rule.
// Names and types that cannot be are kProfileValue.
struct Spelling {
  std::string name = {};      // of the declaration; by rule its parent's name and the part: Q4_K_TILE_256
  std::string codes = {};     // of the field with the codes, tiles or blocks; by rule values, indices, packed, codes,
                              // payload, tiles or blocks. Not the name of another field (scale, bits, padding, ...)
  std::string codebook = {};  // of the constant with the codebooks; by rule codebook
  // UINT8 for packed bytes, or the type that has just this width. By rule: Linear and Function the storage type, if
  // `bits` is its width; FloatingPoint the ONNX type with just these codes, else a bit packing; Log UINT2, 4, 8, ...;
  // else UINT8. Not where a declaration has no codes of its own.
  std::optional<ElementType> code_type = {};
  // Of nested declarations, in this order: the distinct tiles of a Tiling as they first occur, the base of a Sparse,
  // the block of a block layout, the group of a FloatingPoint; then a stored scale's profile, a stored zero point's.
  std::vector<Spelling> parts = {};
  bool operator==(const Spelling&) const = default;
};

// The metadata key under which a root has its logical shape.
inline constexpr std::string_view kShapeKey = "tessera.shape";

struct TranslateOptions {
  Spelling spelling;
  // How many outliers each Sparse holds. By rule ceil(outlier_ratio * values); needed where the ratio is 0, and an
  // error where there is no Sparse.
  std::optional<uint64_t> outliers;
  Limits limits;
};

// The declarations, each after those that it refers to, the root last; all have names, and TypeTable accepts them. The
// root's metadata has the logical shape under kShapeKey ("4096x4096").
// Errors: the first of ValidateProfile; kUnbound for data without a value; kProfileShape where the shape does not fit:
// tiles or blocks that do not divide it, an axis that it does not have, a product that overflows; kProfileValue,
// kTypeName and kArgument for options that do not fit the profile; kLimit*.
Result<std::vector<StructType>> TranslateProfile(const Profile& profile, std::span<const int64_t> shape,
                                                 const TranslateOptions& options = {});

struct RecoveredProfile {
  Profile profile;  // Resolved
  std::vector<int64_t> shape;
  TranslateOptions options;  // that give the same declarations again
};

// The inverse. `types` is a list of its own as Closure() makes it, the root last. The logical shape is `shape` where
// given, else the root's metadata, else [number of values] where the declarations determine it.
// What it returns was translated again and gave these declarations: every field, the values of constants, names of
// nested ones, documentation and metadata. Decoders, encoders and in which member of its message a constant lies are
// not compared, nor the metadata of the translation itself.
// kNotAProfile says at which field the type is none, kProfileShape that a shape is needed, kLimitProfile that the
// profile is too large; also errors of the checker (reference cycles, ...).
Result<RecoveredProfile> RecoverProfile(std::span<const StructType> types,
                                        std::optional<std::vector<int64_t>> shape = std::nullopt,
                                        const Limits& limits = {});

// "4096x4096", "" for a scalar; and back.
std::string ShapeText(std::span<const int64_t> shape);
Result<std::vector<int64_t>> ParseShapeText(std::string_view text);

}  // namespace tessera
