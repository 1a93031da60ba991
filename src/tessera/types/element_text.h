// One element as text, for printing and for literals of the notation. ParseElement(type, FormatElement(type, code))
// is `code` for every code of every type. Complex elements are two texts, one for each half (HalfOf(type)).
//
//   BOOL      true, false                                          also read: 1, 0
//   integers  -8, 255                                              also read: a sign, 0x1F
//   floats    1.0, -0.0, 0.15625, 1e-07, inf, -inf, nan            also read: 1, .5, 2., +1e3, 0x10 (the number 16)
//             bits(0x7fc00001): the code itself                    read for every type
// bits(...) is printed for a NaN other than CanonicalNan(type), and for a BOOL that is neither 0 nor 1.
//
// Pure functions without locale; call them from any thread.
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/types/element_value.h"

namespace tessera {

// A float prints as the shortest decimal that identifies its value as a FLOAT (a DOUBLE: as a DOUBLE), always with a
// point or an exponent; so the text of a FLOAT16 or FLOAT8 is also right in a wider type.
// REQUIRES: the type is of fixed width and not complex.
std::string FormatElement(ElementType type, uint64_t code);

// The code that `text` stands for; blanks around it and inside `bits( )` are skipped. A decimal for a float type
// is rounded once, to nearest even (FLOAT8E8M0: to the nearest power of two, the middle up), however many digits it
// has.
// Errors, all kLiteral with empty `where`: not a literal of the type; an integer outside the type's range; a decimal
// that would round beyond the largest finite value; inf or nan that the type does not have; what EncodeFinite does not
// take for FLOAT8E8M0 (0, negative numbers); a complex type or one of no fixed width.
Result<uint64_t> ParseElement(ElementType type, std::string_view text);

}  // namespace tessera
