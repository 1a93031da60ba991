// Random struct types for property tests: every kind of content that the notation and the messages can hold, the
// invalid ones included (bytes of the wrong size, empty names, references into nowhere). The same seed gives the same
// type on every machine. Not for programs; only tests link it.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/types/struct_type.h"

namespace tessera {

// A small, fixed generator (splitmix64): std distributions differ between libraries.
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  // 0 .. n - 1. REQUIRES: n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// Up to 12 bytes; sometimes an identifier, sometimes any bytes with NULs, quotes and broken UTF-8.
std::string RandomString(RandomSource* random);
// Usually with the bytes that type and dims need, and any codes in them: every NaN, -0, BOOLs that are neither 0 nor 1.
Constant RandomConstant(RandomSource* random);
Function RandomFunction(RandomSource* random);
// A declaration; nesting and sizes are small.
StructType RandomStructType(RandomSource* random);

}  // namespace tessera
