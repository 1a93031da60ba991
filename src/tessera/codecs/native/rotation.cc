// Rotations of a tensor as rows and columns: by Sylvester's matrix, a diagonal or a full matrix.
#include <cmath>
#include <utility>

#include "tessera/codecs/native/codec.h"

namespace tessera::native {
namespace {

// One line of numbers along the rotated axis.
struct Line {
  std::span<double> values;
  size_t start = 0;
  size_t stride = 1;
  size_t size = 0;
  double& operator[](size_t i) const { return values[start + i * stride]; }
};

template <typename Visit>
void ForEachLine(std::span<const uint64_t> shape, bool pre, std::span<double> values, Visit visit) {
  if (values.empty()) return;
  const auto along = static_cast<size_t>(pre ? shape.back() : shape.front());
  const size_t others = values.size() / along;
  for (size_t i = 0; i < others; ++i) visit(Line{values, pre ? i * along : i, pre ? 1 : others, along});
}

void Hadamard(const Arithmetic& arithmetic, const Line& line, size_t size) {
  const double norm = static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(size))));
  for (size_t block = 0; block < line.size; block += size) {
    for (size_t half = 1; half < size; half *= 2) {
      for (size_t i = 0; i < size; ++i) {
        if ((i & half) != 0) continue;
        const double x = line[block + i];
        const double y = line[block + i + half];
        line[block + i] = arithmetic.Round(x + y);
        line[block + i + half] = arithmetic.Round(x - y);
      }
    }
    for (size_t i = 0; i < size; ++i) line[block + i] = arithmetic.Round(line[block + i] * norm);
  }
}

// The inverse of an n x n matrix, by Gauss and Jordan with the largest pivot of a column; empty where there is none.
std::vector<double> Inverse(const std::vector<float>& matrix, size_t n) {
  std::vector<double> a(matrix.begin(), matrix.end());
  std::vector<double> inverse(n * n);
  for (size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    }
    if (a[pivot * n + column] == 0) return {};
    for (size_t k = 0; k < n; ++k) {
      std::swap(a[pivot * n + k], a[column * n + k]);
      std::swap(inverse[pivot * n + k], inverse[column * n + k]);
    }
    const double factor = 1 / a[column * n + column];
    for (size_t k = 0; k < n; ++k) {
      a[column * n + k] *= factor;
      inverse[column * n + k] *= factor;
    }
    for (size_t row = 0; row < n; ++row) {
      const double times = a[row * n + column];
      if (row == column || times == 0) continue;
      for (size_t k = 0; k < n; ++k) {
        a[row * n + k] -= times * a[column * n + k];
        inverse[row * n + k] -= times * inverse[column * n + k];
      }
    }
  }
  return inverse;
}

// A row times the matrix, or the matrix times a column.
void Multiply(const Arithmetic& arithmetic, const Line& line, std::span<const double> matrix, bool pre) {
  std::vector<double> sums(line.size);
  for (size_t i = 0; i < line.size; ++i) {
    for (size_t k = 0; k < line.size; ++k) {
      sums[i] += line[k] * (pre ? matrix[k * line.size + i] : matrix[i * line.size + k]);
    }
  }
  for (size_t i = 0; i < line.size; ++i) line[i] = arithmetic.Round(sums[i]);
}

}  // namespace

void Rotate(const Arithmetic& arithmetic, const Rotation& rotation, bool pre, std::span<const uint64_t> shape,
            std::span<double> values) {
  const auto size = static_cast<size_t>(rotation.dims.back());
  const std::vector<double> matrix(rotation.matrix.values.begin(), rotation.matrix.values.end());
  ForEachLine(shape, pre, values, [&](const Line& line) {
    if (rotation.matrix_type == RotationType::kHadamard) {
      Hadamard(arithmetic, line, size);
    } else if (rotation.dims.size() == 1) {
      for (size_t i = 0; i < line.size; ++i) line[i] = arithmetic.Round(line[i] * matrix[i]);
    } else {
      Multiply(arithmetic, line, matrix, pre);
    }
  });
}

Result<void> Unrotate(const Arithmetic& arithmetic, const Rotation& rotation, bool pre, std::span<const uint64_t> shape,
                      std::span<double> values) {
  if (rotation.matrix_type == RotationType::kHadamard) {
    Rotate(arithmetic, rotation, pre, shape, values);
    return {};
  }
  const std::vector<float>& matrix = rotation.matrix.values;
  if (rotation.dims.size() == 1) {
    ForEachLine(shape, pre, values, [&](const Line& line) {
      for (size_t i = 0; i < line.size; ++i) line[i] = matrix[i] == 0 ? 0 : arithmetic.Round(line[i] / matrix[i]);
    });
    return {};
  }
  const std::vector<double> inverse = Inverse(matrix, static_cast<size_t>(rotation.dims.back()));
  if (inverse.empty()) {
    return Fail(ErrorCode::kUnsupported, pre ? "pre_rotation" : "post_rotation", "the matrix has no inverse",
                "an invertible matrix, or the HADAMARD one");
  }
  ForEachLine(shape, pre, values, [&](const Line& line) { Multiply(arithmetic, line, inverse, pre); });
  return {};
}

}  // namespace tessera::native
