#include "tessera/types/element_type.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tessera {
namespace {

using enum FloatSpecials;

//                              sign exponent mantissa bias  specials
constexpr FloatFormat kNoFormat = {0, 0, 0, 0, kNone};
constexpr FloatFormat kBinary16 = {1, 5, 10, 15, kIeee};
constexpr FloatFormat kBinary32 = {1, 8, 23, 127, kIeee};
constexpr FloatFormat kBinary64 = {1, 11, 52, 1023, kIeee};
constexpr FloatFormat kBrain16 = {1, 8, 7, 127, kIeee};
constexpr FloatFormat kE4M3FN = {1, 4, 3, 7, kNanOnly};
constexpr FloatFormat kE4M3FNUZ = {1, 4, 3, 8, kNanIsNegativeZero};
constexpr FloatFormat kE5M2 = {1, 5, 2, 15, kIeee};
constexpr FloatFormat kE5M2FNUZ = {1, 5, 2, 16, kNanIsNegativeZero};
constexpr FloatFormat kE8M0 = {0, 8, 0, 127, kExponentOnly};
constexpr FloatFormat kE2M1 = {1, 2, 1, 1, kNone};
constexpr FloatFormat kE2M3 = {1, 2, 3, 1, kNone};
constexpr FloatFormat kE3M2 = {1, 3, 2, 3, kNone};

// The one list of the types' facts.
constexpr std::array kTypes = {
    ElementInfo{ElementType::kUndefined, "UNDEFINED", 0, ElementKind::kNone, kNoFormat},
    ElementInfo{ElementType::kFloat, "FLOAT", 32, ElementKind::kFloat, kBinary32},
    ElementInfo{ElementType::kUint8, "UINT8", 8, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kInt8, "INT8", 8, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kUint16, "UINT16", 16, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kInt16, "INT16", 16, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kInt32, "INT32", 32, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kInt64, "INT64", 64, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kString, "STRING", 0, ElementKind::kString, kNoFormat},
    ElementInfo{ElementType::kBool, "BOOL", 8, ElementKind::kBool, kNoFormat},
    ElementInfo{ElementType::kFloat16, "FLOAT16", 16, ElementKind::kFloat, kBinary16},
    ElementInfo{ElementType::kDouble, "DOUBLE", 64, ElementKind::kFloat, kBinary64},
    ElementInfo{ElementType::kUint32, "UINT32", 32, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kUint64, "UINT64", 64, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kComplex64, "COMPLEX64", 64, ElementKind::kComplex, kBinary32},
    ElementInfo{ElementType::kComplex128, "COMPLEX128", 128, ElementKind::kComplex, kBinary64},
    ElementInfo{ElementType::kBfloat16, "BFLOAT16", 16, ElementKind::kFloat, kBrain16},
    ElementInfo{ElementType::kFloat8E4M3FN, "FLOAT8E4M3FN", 8, ElementKind::kFloat, kE4M3FN},
    ElementInfo{ElementType::kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", 8, ElementKind::kFloat, kE4M3FNUZ},
    ElementInfo{ElementType::kFloat8E5M2, "FLOAT8E5M2", 8, ElementKind::kFloat, kE5M2},
    ElementInfo{ElementType::kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", 8, ElementKind::kFloat, kE5M2FNUZ},
    ElementInfo{ElementType::kUint4, "UINT4", 4, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kInt4, "INT4", 4, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kFloat4E2M1, "FLOAT4E2M1", 4, ElementKind::kFloat, kE2M1},
    ElementInfo{ElementType::kFloat8E8M0, "FLOAT8E8M0", 8, ElementKind::kFloat, kE8M0},
    ElementInfo{ElementType::kUint2, "UINT2", 2, ElementKind::kUnsigned, kNoFormat},
    ElementInfo{ElementType::kInt2, "INT2", 2, ElementKind::kSigned, kNoFormat},
    ElementInfo{ElementType::kFloat6E2M3, "FLOAT6E2M3", 6, ElementKind::kFloat, kE2M3},
    ElementInfo{ElementType::kFloat6E3M2, "FLOAT6E3M2", 6, ElementKind::kFloat, kE3M2},
};

// A row stands at its number, and a float's parts fill its width (a complex number has two of them).
constexpr bool RowsAreConsistent() {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    const ElementInfo& row = kTypes[i];
    if (static_cast<size_t>(row.type) != i) return false;
    int format_bits = row.format.sign_bits + row.format.exponent_bits + row.format.mantissa_bits;
    int halves = row.kind == ElementKind::kFloat ? 1 : row.kind == ElementKind::kComplex ? 2 : 0;
    if (format_bits * halves != (halves > 0 ? row.bits : 0)) return false;
    if (halves == 0 && format_bits != 0) return false;
  }
  return true;
}
static_assert(RowsAreConsistent());
static_assert(kTypes.back().type == ElementType::kFloat6E3M2, "one row for every type of IR 14");

}  // namespace

std::span<const ElementInfo> AllElementTypes() { return kTypes; }

const ElementInfo& Info(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

std::optional<ElementType> ElementTypeFromNumber(int64_t number) {
  if (number < 0 || static_cast<uint64_t>(number) >= kTypes.size()) return std::nullopt;
  return kTypes[static_cast<size_t>(number)].type;
}

std::optional<ElementType> ElementTypeFromName(std::string_view name) {
  auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementInfo& info) { return info.name == name; });
  if (row == kTypes.end()) return std::nullopt;
  return row->type;
}

}  // namespace tessera
