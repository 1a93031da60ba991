// Elements as text, so that printing and parsing give the same code again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/types/element_type.h"

namespace tessera {

// One element of up to 64 bits (of COMPLEX128, one of its halves as DOUBLE): `true`, `-3`, `0.02`, `-0.0`, `inf`, `nan`;
// `bits(0x7fc00001)` where no number has this code.
std::string FormatElement(ElementType type, uint64_t code);

// The code of a number: `text` is decimal or 0x hexadecimal with an optional sign, or one of inf, -inf, nan, true,
// false. A decimal for a float type is rounded to the nearest code. Errors: kLiteral for text that is no number or a
// number that does not fit.
Result<uint64_t> ParseElement(ElementType type, std::string_view text);

// The element type of each half of a complex type; other types are their own.
ElementType HalfOf(ElementType type);

}  // namespace tessera
