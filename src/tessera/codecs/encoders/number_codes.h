// From numbers to the bits of codes, in standard operators: the way back of decoders/code_values.h. What is rounded is
// rounded to nearest, ties to even; what lies beyond the codes becomes the nearest of them. Private to codecs/.
//
// Numbers are FLOAT or DOUBLE. Codes are whole numbers without a sign: INT32 where they have at most kNarrowBits bits,
// else INT64, whose bits above those of the code do not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/quant/profile.h"
#include "tessera/types/element_type.h"
#include "tessera/types/element_value.h"
#include "tessera/types/function_builder.h"

namespace tessera::encoders {

inline constexpr uint32_t kNarrowBits = 30;

// The largest number of `type` (FLOAT or DOUBLE) that is at most `value` or below it, and the least one from it on.
double AtMost(ElementType type, double value);
double Below(ElementType type, double value);
double AtLeast(ElementType type, double value);

// How many of `thresholds`, ascending numbers of the values' type, lie below each value: INT32. No NaN.
Value CountBelow(FunctionBuilder* builder, const Value& values, std::vector<double> thresholds);

// The range of whole numbers that codes of a type stand for.
struct IntegerRange {
  int64_t low = 0;
  uint64_t high = 0;
};
// REQUIRES: an integer type of at least that many bits.
IntegerRange RangeOf(ElementType type, uint32_t bits);

// A zero point as the decoder subtracts it: the number of `type` that is nearest to it. nullopt beyond 64 bits.
std::optional<int64_t> ZeroPointIn(ElementType type, int64_t zero_point);

// True if codes with this zero point can be found with the numbers of `type`: the distances from the zero point to both
// ends fit into 64 bits, and are not so far off that the type has none of the numbers between them.
bool HasCodes(ElementType type, const IntegerRange& range, int64_t zero_point);

// Codes of round(x) + zero_point in two's complement of `bits` bits, which are those of the range. `zero_points` is one
// number, or broadcasts as `dims`. No NaN. REQUIRES: HasCodes() for each.
Value IntegerCodes(FunctionBuilder* builder, const Value& x, const IntegerRange& range, uint32_t bits,
                   std::span<const int64_t> zero_points, const Dims& dims = {});

// What becomes of finite values that would be rounded beyond the largest one.
enum class Beyond : uint8_t {
  kLargest,
  kInfinity,  // where the format has it
};
// Codes of a float format. Infinity is infinity where the format has it, and else the largest value; a format without
// sign has 0 for what is negative. NaN where `nan` is true: the quiet NaN without sign, or the largest value.
Value FloatCodes(FunctionBuilder* builder, const Value& x, const Value& nan, const FloatingPointProfile& format,
                 Beyond beyond);
// The same for an ONNX type of real numbers. FLOAT8E8M0, which has no sign: `rounding` says where a value between two
// powers goes; 0 and what is smaller than all powers becomes the least one, what is negative NaN.
Value FloatTypeCodes(FunctionBuilder* builder, const Value& x, const Value& nan, ElementType type, Beyond beyond,
                     ScaleRounding rounding = ScaleRounding::kUp);
// The largest finite number of a format.
double LargestOf(const FloatingPointProfile& format);

// [rows, count] codes of `bits` bits, one behind the other from the least significant bit, cut into units of `unit`
// bits: [rows, ceil(count * bits / unit)] of INT32; what is missing at the end is 0. REQUIRES: unit is 1, 2, 4 or 8.
Value Pack(FunctionBuilder* builder, const Value& codes, uint32_t bits, uint32_t unit);

}  // namespace tessera::encoders
