// The reference codecs: scalar, one file a family. A codec knows where in a payload the codes of one declaration lie
// and what they mean; codecs of tilings and sparse tensors hold those of their parts. They share no arithmetic with the
// decoders in codecs/decoders, which they are compared with. Private to codecs/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/native/numbers.h"
#include "tessera/quant/profile.h"

namespace tessera::native {

// The bits of a value, and where in them the declaration begins.
struct Source {
  std::span<const uint8_t> bytes;
  uint64_t bit = 0;
  Source At(uint64_t offset) const { return {bytes, bit + offset}; }
};
struct Sink {
  std::span<uint8_t> bytes;
  uint64_t bit = 0;
  Sink At(uint64_t offset) const { return {bytes, bit + offset}; }
};

// Parameters of a tile that are stored further out, where a tiling reads them.
struct Given {
  double scale = 1;
  double zero_point = 0;
};

// The numbers that share a parameter, with 0; NaN does not count, infinity as the largest number.
struct Range {
  double low = 0;
  double high = 0;
  void Add(double x, double most);
  void Add(const Range& other);
  double Magnitude() const;
};

class Codec {
 public:
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  // Row-major values of the tensor or tile, as many as count(). Errors: kCodeOutside with the place of the code, those
  // of operators that were registered.
  Result<void> Decode(const Source& source, const Given& given, std::span<double> values) const;
  // Writes all bits of the declaration but its padding. Errors: kUnsupported where values have no encoding.
  Result<void> Encode(std::span<const double> values, const Given& given, const Sink& sink) const;

  // What is to be given to encode these values.
  Result<Range> Measure(std::span<const double> values) const;
  virtual double WantedScale(const Range& range) const;
  virtual double WantedZeroPoint(const Range& range, double scale) const;

  uint64_t count() const { return count_; }

 protected:
  // What every family has: filled in by the builder.
  friend class Builder;
  struct Common {
    Arithmetic arithmetic{false};
    uint64_t count = 0;
    std::vector<uint64_t> shape;
    std::vector<uint64_t> logical_of;  // of each place in the family's order; empty where that is row-major
    std::optional<Rotation> pre;
    std::optional<Rotation> post;
    std::optional<ElementType> data_type;  // what is decoded inside another value is rounded to
  };
  explicit Codec(Common common);

  // The same in the order of the family, without rotations.
  virtual Result<void> DecodeOwn(const Source& source, const Given& given, std::span<double> values) const = 0;
  virtual Result<void> EncodeOwn(std::span<const double> values, const Given& given, const Sink& sink) const = 0;
  virtual Result<Range> MeasureOwn(std::span<const double> values) const;

  const Arithmetic& arithmetic() const { return common_.arithmetic; }
  const std::vector<uint64_t>& shape() const { return common_.shape; }

 private:
  // Values without rotations, in the order of the family; `values` itself where nothing changes.
  Result<std::span<const double>> Own(std::span<const double> values, std::vector<double>* scratch) const;

  Common common_;
  uint64_t count_;
};

// values * matrix along the last axis of rows x columns (`pre`), or matrix * values along the first one.
void Rotate(const Arithmetic& arithmetic, const Rotation& rotation, bool pre, std::span<const uint64_t> shape,
            std::span<double> values);
// The way back. Errors: kUnsupported for a matrix without inverse.
Result<void> Unrotate(const Arithmetic& arithmetic, const Rotation& rotation, bool pre, std::span<const uint64_t> shape,
                      std::span<double> values);

}  // namespace tessera::native
