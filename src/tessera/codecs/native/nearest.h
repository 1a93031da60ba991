// The nearest entry of a codebook. Private to codecs/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/codecs/native/numbers.h"

namespace tessera::native {

// Finds entries of one codebook: `size` vectors of `vector` numbers. Of entries that are as near the one with the lower
// index. Numbers are compared exactly, vectors by the sum of the squared differences, each operation in the type that
// is computed in.
class NearestEntry {
 public:
  NearestEntry(const Arithmetic& arithmetic, std::span<const float> entries, size_t vector);
  // REQUIRES: `x` has `vector` numbers, none of which is NaN.
  uint32_t Find(std::span<const double> x) const;

 private:
  uint32_t FindNumber(double x) const;

  Arithmetic arithmetic_;
  std::vector<float> entries_;
  size_t vector_;
  std::vector<uint32_t> ascending_;  // the indices of distinct numbers
};

// The entries of several codebooks whose sum is near to a vector: a beam search over the books in their order, and then
// one book after the other again while that comes nearer. Deterministic; not always the nearest sum that there is.
class NearestSum {
 public:
  // `entries`: books x size x vector.
  NearestSum(std::span<const float> entries, size_t books, size_t size, size_t vector);
  // One index a book.
  std::vector<uint32_t> Find(std::span<const double> x) const;

 private:
  double Distance(std::span<const double> rest, size_t book, size_t entry) const;
  void Take(size_t book, size_t entry, double sign, std::vector<double>* rest) const;

  std::span<const float> entries_;
  size_t books_;
  size_t size_;
  size_t vector_;
};

}  // namespace tessera::native
