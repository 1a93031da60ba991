// What the encoders of all families are made of. A family turns the values of one declaration, `batch` of them at once,
// into the codes of its leaves; the bytes are put together from the leaves at the end. Private to codecs/.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/decoders/level.h"
#include "tessera/codecs/encoders/number_codes.h"
#include "tessera/quant/profile.h"
#include "tessera/types/function_builder.h"
#include "tessera/types/limits.h"

namespace tessera::encoders {

using decoders::Level;
using decoders::Place;

class EncoderWriter {
 public:
  EncoderWriter(FunctionBuilder* builder, std::span<const StructType> types, bool wide, const Limits& limits)
      : builder_(*builder),
        types_(types),
        compute_(wide ? ElementType::kDouble : ElementType::kFloat),
        limits_(limits) {}

  FunctionBuilder& builder() { return builder_; }
  ElementType compute() const { return compute_; }  // FLOAT, or DOUBLE
  quant::Reader Read(int32_t type) const { return quant::Reader(types_, type); }
  Value Number(double value) { return builder_.Const(MakeFloats(compute_, {}, {{value}})); }

  // Stores what a level's values, [batch, values] in memory order and in the compute type, are encoded as.
  // Errors: kNoEncoder; kNotAProfile.
  Result<void> Encode(const Level& level, Value values);
  // The bytes of all that was stored: [batch, bytes] of INT32. Errors: kNotAProfile where something was not.
  Result<Value> Bytes(const Place& place);

  // ---- Leaves

  // Codes of an array or a bit packing, one for each element, `bits` wide.
  void Store(const Place& place, std::string_view field, const Value& codes, uint32_t bits);
  // [batch, count] codes of a field that quant::CodesType() declared: elements just as wide, or packed bytes.
  Result<void> StoreCodes(const Place& place, std::string_view field, const Value& codes, uint32_t bits);
  // [batch, count] codes in groups of `per_group`, each of `group_bytes` bytes; the last may be partial.
  void StoreGroups(const Place& place, std::string_view field, const Value& codes, uint32_t bits, int64_t per_group,
                   int64_t group_bytes);
  // [rows, count] with zeros behind: [rows, wanted].
  Value PaddedTo(const Value& x, int64_t wanted);

  // ---- Values

  // The values with 0 in place of NaN; `nan`, where given, is where those were.
  Value WithoutNan(const Value& values, Value* nan = nullptr);
  // values / scale. A stored scale is the largest magnitude of the values that share it over `largest`, encoded as it
  // is stored, and the values are divided by what that means. Values with a scale of 0, which mean 0 whatever their
  // codes, become 0. No NaN.
  Result<Value> Quotients(const Level& level, const Value& values, const Scale& scale, double largest);
  // The same for constant scales that broadcast as `dims`.
  Value DividedBy(const Value& values, const Dims& dims, std::span<const double> scales);
  // What a constant scale is in the compute type. REQUIRES: not a stored one.
  double ConstantScale(const Scale& scale) const;

  tl::unexpected<Error> NoEncoder(std::string what, std::string fix) const;

 private:
  struct Leaf {
    Value codes;
    uint32_t bits = 0;
  };
  // In stored_scale.cc.
  Result<Value> Stored(const Level& level, const Value& values, const tessera::Stored& stored, double largest);
  // The codes of positive scales, [n, 1], which are stored, and what those mean.
  std::pair<Value, Value> ScaleCodes(const Value& magnitudes, ElementType type, double largest);
  // Scales that a profile quantizes: stores them, and gives what its decoder makes of them, in the shape of `wanted`.
  Result<Value> NestedScales(const Level& level, const tessera::Stored& stored, const Value& wanted);
  Result<Leaf> Part(const quant::Reader& reader, const PhysicalType& type, const Place& place, std::string_view field);
  Result<Value> Unrotated(const Level& level, const Value& values, const Rotation& rotation, bool pre);

  FunctionBuilder& builder_;
  std::span<const StructType> types_;
  ElementType compute_;
  const Limits& limits_;
  std::map<std::string, Leaf, std::less<>> stored_;  // by path
};

// One row a family.
using FamilyEncoder = Result<void> (*)(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeLinear(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeCodebook(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeFloatingPoint(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeLog(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeTiling(EncoderWriter* writer, const Level& level, const Value& values);
Result<void> EncodeCast(EncoderWriter* writer, const Level& level, const Value& values);

// From values that are divided by the scale, as a merged tiling has it; `zero_points` broadcast as `dims` against
// `quotients`, which have 0 where `nan` is true.
Result<void> StoreLinear(EncoderWriter* writer, const Level& level, const Value& quotients, const Value& nan,
                         std::span<const int64_t> zero_points, const Dims& dims);
Result<void> StoreCodebook(EncoderWriter* writer, const Level& level, const Value& quotients);

}  // namespace tessera::encoders
