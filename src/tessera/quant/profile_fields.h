// The fields of every message of the profile notation, a row each. Parser, printer and tests loop over the rows, so
// that a field is named here and nowhere else; what is read and printed for it follows from the type of its member.
//
// Source of names and order: the founding document's messages. Constants only; safe everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include "tessera/quant/profile.h"

namespace tessera {

// Whether a field is printed where it has its default, which is 0, false, empty or absent for all of them.
enum class Shown : uint8_t {
  kIfSet,
  kAlways,  // a reader would ask what it is
};

template <typename Message, typename Value>
struct FieldRow {
  std::string_view name;
  Value Message::* member;
  Shown shown = Shown::kIfSet;
  std::string_view alias = {};  // a second spelling that is read
};

template <typename Message, typename Value>
constexpr FieldRow<Message, Value> Row(std::string_view name, Value Message::* member, Shown shown = Shown::kIfSet,
                                       std::string_view alias = {}) {
  return {name, member, shown, alias};
}

// The members of the oneof `scale`, in the order of Scale without the monostate.
inline constexpr std::string_view kScaleNames[] = {"scale_float", "scale_int", "scale"};
static_assert(std::size(kScaleNames) + 1 == std::variant_size_v<Scale>);

// The name of the message of a family.
template <typename Family, size_t kIndex = 0>
constexpr std::string_view FamilyMessage() {
  if constexpr (std::is_same_v<std::variant_alternative_t<kIndex + 1, Profile::Kind>, Family>)
    return kFamilyNames[kIndex].message;
  else
    return FamilyMessage<Family, kIndex + 1>();
}

// ---- Names of enumerators, numbered from 0

template <typename Enum>
struct EnumText;  // kWhat: what is expected where it stands; NameOf(number): nullopt for a number that is none

template <>
struct EnumText<ElementType> {
  static constexpr std::string_view kWhat = "an element type";
  static std::optional<std::string_view> NameOf(int64_t number) {
    const std::optional<ElementType> type = ElementTypeFromNumber(number);
    return type ? std::optional(Name(*type)) : std::nullopt;
  }
};

template <>
struct EnumText<BlockFieldRole> {
  static constexpr std::string_view kWhat = "a role of a block's field";
  static std::optional<std::string_view> NameOf(int64_t number) {
    const std::optional<BlockFieldRole> role = BlockFieldRoleFromNumber(number);
    return role ? std::optional(Name(*role)) : std::nullopt;
  }
};

template <size_t kCount>
std::optional<std::string_view> NameAt(const std::array<std::string_view, kCount>& names, int64_t number) {
  if (number < 0 || static_cast<uint64_t>(number) >= kCount) return std::nullopt;
  return names[static_cast<size_t>(number)];
}

template <>
struct EnumText<RotationType> {
  static constexpr std::string_view kWhat = "a kind of rotation";
  static constexpr std::array<std::string_view, 2> kNames = {"HADAMARD", "PLAIN"};
  static std::optional<std::string_view> NameOf(int64_t number) { return NameAt(kNames, number); }
};

template <>
struct EnumText<BlockStorageOrder> {
  static constexpr std::string_view kWhat = "an order of blocks";
  static constexpr std::array<std::string_view, 2> kNames = {"INTERLEAVED", "SEQUENTIAL"};
  static std::optional<std::string_view> NameOf(int64_t number) { return NameAt(kNames, number); }
};

template <>
struct EnumText<Stored::Per> {
  static constexpr std::string_view kWhat = "what has a stored value each";
  static constexpr std::array<std::string_view, 3> kNames = {"tile", "channel", "tensor"};
  static std::optional<std::string_view> NameOf(int64_t number) { return NameAt(kNames, number); }
};

template <>
struct EnumText<Stored::At> {
  static constexpr std::string_view kWhat = "a place beside the codes";
  static constexpr std::array<std::string_view, 2> kNames = {"before", "after"};
  static std::optional<std::string_view> NameOf(int64_t number) { return NameAt(kNames, number); }
};

// REQUIRES: an enumerator of Enum.
template <typename Enum>
std::string_view EnumName(Enum value) {
  return *EnumText<Enum>::NameOf(static_cast<int64_t>(value));
}

// nullopt for a name that is none.
template <typename Enum>
std::optional<Enum> EnumFromName(std::string_view name) {
  for (int64_t number = 0;; ++number) {
    const std::optional<std::string_view> candidate = EnumText<Enum>::NameOf(number);
    if (!candidate) return std::nullopt;
    if (*candidate == name) return static_cast<Enum>(number);
  }
}

// ---- Messages

template <typename Message>
struct Fields;

template <typename T>
concept IsMessage = requires {
  Fields<T>::kName;
  Fields<T>::kRows;
};

// Calls visit(row) for each field, in order.
template <IsMessage Message, typename Visit>
constexpr void ForEachField(Visit visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, Fields<Message>::kRows);
}

// Calls visit(name) for each name that a text may give the field.
template <typename Message, typename Value, typename Visit>
constexpr void ForEachName(const FieldRow<Message, Value>& row, Visit visit) {
  if constexpr (std::is_same_v<Value, Profile::Kind>) {
    for (const FamilyNames& family : kFamilyNames) visit(family.field);
  } else if constexpr (std::is_same_v<Value, Scale>) {
    for (std::string_view name : kScaleNames) visit(name);
  } else {
    visit(row.name);
    if (!row.alias.empty()) visit(row.alias);
  }
}

template <>
struct Fields<LinearProfile> {
  static constexpr std::string_view kName = FamilyMessage<LinearProfile>();
  static constexpr std::tuple kRows = {
      Row("storage_type", &LinearProfile::storage_type, Shown::kAlways),
      Row("bits", &LinearProfile::bits, Shown::kAlways),
      Row("symmetric", &LinearProfile::symmetric),
      Row("scale", &LinearProfile::scale),
      Row("zero_point", &LinearProfile::zero_point),
      Row("axis", &LinearProfile::axis, Shown::kAlways),
  };
};

template <>
struct Fields<CodebookProfile> {
  static constexpr std::string_view kName = FamilyMessage<CodebookProfile>();
  static constexpr std::tuple kRows = {
      Row("scale", &CodebookProfile::scale),
      Row("codebook_data", &CodebookProfile::codebook_data),
      Row("packed_count", &CodebookProfile::packed_count),
      Row("packed_bytes", &CodebookProfile::packed_bytes),
      Row("num_codebooks", &CodebookProfile::num_codebooks),
      Row("codebook_size", &CodebookProfile::codebook_size),
      Row("vector_size", &CodebookProfile::vector_size),
      Row("index_bits", &CodebookProfile::index_bits),
  };
};

template <>
struct Fields<FloatingPointProfile> {
  static constexpr std::string_view kName = FamilyMessage<FloatingPointProfile>();
  static constexpr std::tuple kRows = {
      Row("sign_bits", &FloatingPointProfile::sign_bits, Shown::kAlways),
      Row("exponent_bits", &FloatingPointProfile::exponent_bits, Shown::kAlways),
      Row("mantissa_bits", &FloatingPointProfile::mantissa_bits, Shown::kAlways),
      Row("exponent_bias", &FloatingPointProfile::exponent_bias, Shown::kAlways),
      Row("has_inf", &FloatingPointProfile::has_inf),
      Row("has_nan", &FloatingPointProfile::has_nan),
      Row("split_storage", &FloatingPointProfile::split_storage),
      Row("packed_count", &FloatingPointProfile::packed_count),
      Row("packed_bytes", &FloatingPointProfile::packed_bytes),
      Row("scale", &FloatingPointProfile::scale),
  };
};

template <>
struct Fields<SparseProfile> {
  static constexpr std::string_view kName = FamilyMessage<SparseProfile>();
  static constexpr std::tuple kRows = {
      Row("base_quant", &SparseProfile::base_quant, Shown::kAlways),
      Row("outlier_data_type", &SparseProfile::outlier_data_type, Shown::kAlways),
      Row("outlier_threshold", &SparseProfile::outlier_threshold),
      Row("outlier_ratio", &SparseProfile::outlier_ratio),
  };
};

template <>
struct Fields<LogProfile> {
  static constexpr std::string_view kName = FamilyMessage<LogProfile>();
  static constexpr std::tuple kRows = {
      Row("bits", &LogProfile::bits, Shown::kAlways),
      Row("base", &LogProfile::base, Shown::kAlways),
      Row("offset", &LogProfile::offset, Shown::kAlways),
      Row("has_sign", &LogProfile::has_sign, Shown::kAlways),
  };
};

template <>
struct Fields<FunctionProfile> {
  static constexpr std::string_view kName = FamilyMessage<FunctionProfile>();
  static constexpr std::tuple kRows = {
      Row("storage_type", &FunctionProfile::storage_type, Shown::kAlways),
      Row("bits", &FunctionProfile::bits, Shown::kAlways),
      Row("quantize_op", &FunctionProfile::quantize_op),
      Row("dequantize_op", &FunctionProfile::dequantize_op),
      Row("block_layout", &FunctionProfile::block_layout),
  };
};

template <>
struct Fields<BlockLayout> {
  static constexpr std::string_view kName = "BlockLayoutProto";
  static constexpr std::tuple kRows = {
      Row("block_size", &BlockLayout::block_size, Shown::kAlways),
      Row("bytes_per_block", &BlockLayout::bytes_per_block, Shown::kAlways),
      Row("fields", &BlockLayout::fields),
  };
};

template <>
struct Fields<BlockField> {
  static constexpr std::string_view kName = "BlockFieldProto";
  static constexpr std::tuple kRows = {
      Row("role", &BlockField::role, Shown::kAlways),
      Row("bit_offset", &BlockField::bit_offset, Shown::kAlways),
      Row("bit_width", &BlockField::bit_width, Shown::kAlways),
      Row("count", &BlockField::count, Shown::kAlways),
      Row("data_type", &BlockField::data_type),
  };
};

template <>
struct Fields<TilingProfile> {
  static constexpr std::string_view kName = FamilyMessage<TilingProfile>();
  static constexpr std::tuple kRows = {
      Row("tile_shape", &TilingProfile::tile_shape),
      Row("axes", &TilingProfile::axes),
      Row("elem_quant", &TilingProfile::elem_quant),
      Row("perm", &TilingProfile::perm),
  };
};

template <>
struct Fields<CastProfile> {
  static constexpr std::string_view kName = FamilyMessage<CastProfile>();
  static constexpr std::tuple kRows = {Row("storage_type", &CastProfile::storage_type, Shown::kAlways)};
};

template <>
struct Fields<FieldWeight> {
  static constexpr std::string_view kName = "FieldWeightProto";
  static constexpr std::tuple kRows = {
      Row("field", &FieldWeight::field, Shown::kAlways),
      Row("multiplier", &FieldWeight::multiplier, Shown::kAlways),
  };
};

template <>
struct Fields<Scatter> {
  static constexpr std::string_view kName = "ScatterProto";
  static constexpr std::tuple kRows = {
      Row("group_size", &Scatter::group_size, Shown::kAlways),
      Row("vector_size", &Scatter::vector_size, Shown::kAlways),
      Row("stride", &Scatter::stride, Shown::kAlways),
  };
};

template <>
struct Fields<StructuredBlockProfile> {
  static constexpr std::string_view kName = FamilyMessage<StructuredBlockProfile>();
  static constexpr std::tuple kRows = {
      Row("block_layout", &StructuredBlockProfile::block_layout, Shown::kAlways),
      Row("codebook_data", &StructuredBlockProfile::codebook_data),
      Row("codebook_vector_size", &StructuredBlockProfile::codebook_vector_size),
      Row("index_formula", &StructuredBlockProfile::index_formula),
      Row("scatter", &StructuredBlockProfile::scatter),
      Row("storage_order", &StructuredBlockProfile::storage_order),
      Row("axis", &StructuredBlockProfile::axis),
  };
};

template <>
struct Fields<Rotation> {
  static constexpr std::string_view kName = "RotationProto";
  static constexpr std::tuple kRows = {
      // The document's message has the first spelling, one of its examples the second.
      Row("matrix_type", &Rotation::matrix_type, Shown::kAlways, "type"),
      Row("dims", &Rotation::dims),
      Row("matrix_index", &Rotation::matrix_index),
      Row("matrix", &Rotation::matrix),
  };
};

// `stored(TYPE, per=tile, at=before)`: the arguments behind the type.
template <>
struct Fields<Stored> {
  static constexpr std::string_view kName = "stored";
  static constexpr std::tuple kRows = {
      Row("per", &Stored::per, Shown::kAlways),
      Row("at", &Stored::at, Shown::kAlways),
  };
};

// The family, which may be long, comes last.
template <>
struct Fields<Profile> {
  static constexpr std::string_view kName = "QuantizationProto";
  static constexpr std::tuple kRows = {
      Row("doc_string", &Profile::doc_string),       Row("metadata_props", &Profile::metadata),
      Row("data_type", &Profile::data_type),         Row("pre_rotation", &Profile::pre_rotation),
      Row("post_rotation", &Profile::post_rotation), Row("kind", &Profile::kind),  // named by kFamilyNames
  };
};

}  // namespace tessera
