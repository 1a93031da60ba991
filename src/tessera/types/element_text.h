// One element as text, for printing and for literals of the notation. ParseElement(type, FormatElement(type, code))
// is `code` for every code of every fixed-width type.
//
//   BOOL          true, false                        also read: 1, 0
//   integers      -8, 255                            also read: a sign, 0x1F
//   floats        1.0, -0.0, 0.15625, 1e-07, inf, -inf, nan      also read: 1, .5, 2., +1e3
//                 bits(0x7fc00001)                   a NaN other than CanonicalNan(type); read for all but complex types
//   complex       complex(1.0, -0.5)                 each half as a float
//   codes of BOOL other than 0 and 1 print as bits(0x..), too.
//
// Pure functions without locale; call them from any thread.
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/types/element_value.h"

namespace tessera {

// REQUIRES: IsFixedWidth(type). A float prints as the shortest decimal that identifies its value as a FLOAT (a DOUBLE:
// as a DOUBLE), always with a point or an exponent; so the text of a FLOAT16 or FLOAT8 is also right in a wider type.
std::string FormatElement(ElementType type, ElementCode code);

// The code that `text` stands for; blanks around it or inside `complex( , )` and `bits( )` are skipped. A decimal for
// a float type is rounded once, to nearest even (FLOAT8E8M0: to the nearest power of two, the middle up), however many
// digits it has.
// Errors, all kLiteral with empty `where`: not a literal of the type; an integer outside the type's range; a decimal
// that would round beyond the largest finite value; inf or nan that the type does not have; what EncodeFinite does not
// take for FLOAT8E8M0 (0, negative numbers); a type of no fixed width.
Result<ElementCode> ParseElement(ElementType type, std::string_view text);

}  // namespace tessera
