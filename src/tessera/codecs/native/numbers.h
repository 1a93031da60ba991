// What single codes mean, and which code a number gets: scalar and exact. docs/decoding.md has the rules. Private to
// codecs/.
#pragma once

#include <cstdint>

#include "tessera/quant/profile.h"
#include "tessera/types/element_type.h"

namespace tessera::native {

// The type that is computed in, FLOAT or DOUBLE. Its numbers are held as double: an operation on two FLOAT in double,
// rounded to FLOAT, is the operation in FLOAT, since 53 >= 2 * 24 + 2.
class Arithmetic {
 public:
  explicit Arithmetic(bool wide) : wide_(wide) {}
  double Round(double x) const { return wide_ ? x : static_cast<double>(static_cast<float>(x)); }
  // 2^exponent: 0 or infinity where the type has no such number.
  double PowerOfTwo(int64_t exponent) const;
  // The largest finite number.
  double Most() const;
  double FromInteger(int64_t value) const;
  double FromUnsigned(uint64_t value) const;

 private:
  bool wide_;
};

// ---- Whole numbers

struct IntegerRange {
  int64_t low = 0;
  uint64_t high = 0;
};
// Of codes of `bits` bits, signed where the type is.
IntegerRange RangeOf(ElementType type, uint32_t bits);
// How far from the zero point codes reach on both sides, or on the one side on which there are any.
double Reach(const IntegerRange& range, double zero_point);
// round(x) + zero_point, ties to even, as the nearest code of the range; a zero point that is no whole number is added
// first. No NaN.
uint64_t IntegerCode(double x, double zero_point, const IntegerRange& range, uint32_t bits);

// ---- Floats

// What becomes of finite numbers beyond the largest one.
enum class Beyond : uint8_t {
  kLargest,
  kInfinity,  // where the format has it
};
double FloatOfCode(const FloatingPointProfile& format, uint64_t code);
// The nearest code, ties to even. NaN: the quiet one without sign, or the largest number where there is none.
// Infinity: infinity, or the largest number. What is negative is 0 in a format without sign.
uint64_t CodeOfFloat(const FloatingPointProfile& format, double x, Beyond beyond);
uint64_t LargestCode(const FloatingPointProfile& format);

// ---- Element types. REQUIRES: a type of real numbers; UNDEFINED stands for unsigned bits.

// The number of a code of `bits` bits, rounded once.
double NumberOfCode(const Arithmetic& arithmetic, ElementType type, uint32_t bits, uint64_t code);
// FLOAT8E8M0: the next power of two below, or above where `up`; what is negative or NaN becomes NaN.
uint64_t CodeOfNumber(ElementType type, uint32_t bits, double x, Beyond beyond, bool up);
// The magnitude up to which codes of the type reach: on both sides, for integers around `zero_point`.
double LargestOf(ElementType type, uint32_t bits, double zero_point);
// ONNX's Cast to that type, as a number. Integers are cut off toward 0; what Cast leaves open becomes the nearest one.
double CastTo(ElementType type, double x);
bool IsPowerOfTwoType(ElementType type);
bool IsInteger(ElementType type);

// What a scale is divided by so that magnitudes up to 1 reach codes up to `largest`: for scales that are powers of two
// themselves the power of two below it, as the OCP formats have it.
double ScaleDivisor(const Arithmetic& arithmetic, double largest, bool power_of_two);

}  // namespace tessera::native
