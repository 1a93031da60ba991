#include "tessera/types/element_type.h"

#include <array>

namespace tessera {
namespace {

using E = ElementType;
using K = ElementKind;
using S = FloatSpecials;

constexpr std::array kElements = {
    ElementInfo{E::kUndefined, "UNDEFINED", 0, K::kNone, {}},
    ElementInfo{E::kFloat, "FLOAT", 32, K::kFloat, {1, 8, 23, 127, S::kIeee}},
    ElementInfo{E::kUint8, "UINT8", 8, K::kUnsigned, {}},
    ElementInfo{E::kInt8, "INT8", 8, K::kSigned, {}},
    ElementInfo{E::kUint16, "UINT16", 16, K::kUnsigned, {}},
    ElementInfo{E::kInt16, "INT16", 16, K::kSigned, {}},
    ElementInfo{E::kInt32, "INT32", 32, K::kSigned, {}},
    ElementInfo{E::kInt64, "INT64", 64, K::kSigned, {}},
    ElementInfo{E::kString, "STRING", 0, K::kString, {}},
    ElementInfo{E::kBool, "BOOL", 8, K::kBool, {}},
    ElementInfo{E::kFloat16, "FLOAT16", 16, K::kFloat, {1, 5, 10, 15, S::kIeee}},
    ElementInfo{E::kDouble, "DOUBLE", 64, K::kFloat, {1, 11, 52, 1023, S::kIeee}},
    ElementInfo{E::kUint32, "UINT32", 32, K::kUnsigned, {}},
    ElementInfo{E::kUint64, "UINT64", 64, K::kUnsigned, {}},
    ElementInfo{E::kComplex64, "COMPLEX64", 64, K::kComplex, {1, 8, 23, 127, S::kIeee}},
    ElementInfo{E::kComplex128, "COMPLEX128", 128, K::kComplex, {1, 11, 52, 1023, S::kIeee}},
    ElementInfo{E::kBfloat16, "BFLOAT16", 16, K::kFloat, {1, 8, 7, 127, S::kIeee}},
    ElementInfo{E::kFloat8E4M3FN, "FLOAT8E4M3FN", 8, K::kFloat, {1, 4, 3, 7, S::kNanOnly}},
    ElementInfo{E::kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", 8, K::kFloat, {1, 4, 3, 8, S::kNanIsNegativeZero}},
    ElementInfo{E::kFloat8E5M2, "FLOAT8E5M2", 8, K::kFloat, {1, 5, 2, 15, S::kIeee}},
    ElementInfo{E::kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", 8, K::kFloat, {1, 5, 2, 16, S::kNanIsNegativeZero}},
    ElementInfo{E::kUint4, "UINT4", 4, K::kUnsigned, {}},
    ElementInfo{E::kInt4, "INT4", 4, K::kSigned, {}},
    ElementInfo{E::kFloat4E2M1, "FLOAT4E2M1", 4, K::kFloat, {1, 2, 1, 1, S::kNone}},
    ElementInfo{E::kFloat8E8M0, "FLOAT8E8M0", 8, K::kFloat, {0, 8, 0, 127, S::kExponentOnly}},
    ElementInfo{E::kUint2, "UINT2", 2, K::kUnsigned, {}},
    ElementInfo{E::kInt2, "INT2", 2, K::kSigned, {}},
    ElementInfo{E::kFloat6E2M3, "FLOAT6E2M3", 6, K::kFloat, {1, 2, 3, 1, S::kNone}},
    ElementInfo{E::kFloat6E3M2, "FLOAT6E3M2", 6, K::kFloat, {1, 3, 2, 3, S::kNone}},
};

constexpr bool RowsAreConsistent() {
  for (size_t i = 0; i < kElements.size(); ++i) {
    const ElementInfo& row = kElements[i];
    if (static_cast<size_t>(row.type) != i) return false;
    const FloatFormat& f = row.format;
    uint32_t format_bits = uint32_t{f.sign_bits} + f.exponent_bits + f.mantissa_bits;
    if (row.kind == K::kFloat && format_bits != row.bits) return false;
    if (row.kind == K::kComplex && 2 * format_bits != row.bits) return false;
  }
  return true;
}
static_assert(RowsAreConsistent(), "rows stand in the order of their numbers, and a float's fields fill its width");

}  // namespace

std::span<const ElementInfo> AllElementTypes() { return kElements; }

const ElementInfo& Info(ElementType type) { return kElements[static_cast<size_t>(type)]; }

std::optional<ElementType> ElementTypeFromNumber(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(kElements.size())) return std::nullopt;
  return static_cast<ElementType>(number);
}

std::optional<ElementType> ElementTypeFromName(std::string_view name) {
  for (const ElementInfo& row : kElements) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

}  // namespace tessera
