#include "tessera/codecs/native_codec.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/codecs/native/builder.h"
#include "tessera/quant/translate.h"

namespace tessera {

Result<NativeCodec> NativeCodec::Create(const Profile& profile, std::span<const int64_t> shape,
                                        std::span<const StructType> types, const Limits& limits) {
  const Profile resolved = Resolved(profile);
  NativeCodec result;
  result.data_type_ = profile.data_type.value_or(ElementType::kFloat);
  result.wide_ = result.data_type_ == ElementType::kDouble;
  const std::vector<uint64_t> dims(shape.begin(), shape.end());
  const std::optional<uint64_t> count = CheckedProduct(dims);
  const std::optional<uint64_t> bytes = count ? CheckedMul(*count, sizeof(double)) : std::nullopt;
  if (!bytes || *bytes > limits.payload_bytes) {
    return Fail(ErrorCode::kLimitPayload, ShapeText(shape), "the values pass the limit",
                fmt::format("at most {} bytes of {} each", limits.payload_bytes, sizeof(double)));
  }
  result.count_ = *count;
  native::Builder builder(types, result.wide_);
  native::Level level = native::Builder::Plain(resolved, static_cast<int32_t>(types.size()) - 1, dims);
  level.is_root = true;
  TESSERA_ASSIGN(result.codec_, builder.Build(level));
  result.payload_bytes_ = builder.SizeBits(level.type) / 8;
  return result;
}

Result<std::vector<double>> NativeCodec::Decode(std::span<const uint8_t> payload) const {
  if (payload.size() != payload_bytes_) {
    return Fail(ErrorCode::kPayloadSize, "payload", fmt::format("has {} bytes", payload.size()),
                fmt::format("{} bytes", payload_bytes_));
  }
  std::vector<double> values(count_);
  TESSERA_TRY(codec_->Decode({payload, 0}, {}, values));
  if (data_type_ == ElementType::kFloat || data_type_ == ElementType::kDouble) return values;
  for (double& value : values) value = native::CastTo(data_type_, value);
  return values;
}

Result<std::vector<uint8_t>> NativeCodec::Encode(std::span<const double> values) const {
  if (values.size() != count_) {
    return Fail(ErrorCode::kArgument, "values", fmt::format("there are {}", values.size()),
                fmt::format("{} values", count_));
  }
  const native::Arithmetic arithmetic(wide_);
  std::vector<double> numbers(values.begin(), values.end());
  // As the tensor holds them.
  for (double& number : numbers) {
    if (data_type_ != ElementType::kDouble && data_type_ != ElementType::kFloat) {
      number = native::CastTo(data_type_, number);
    }
    number = arithmetic.Round(number);
  }
  std::vector<uint8_t> payload(payload_bytes_);
  TESSERA_TRY(codec_->Encode(numbers, {}, {payload, 0}));
  return payload;
}

}  // namespace tessera
