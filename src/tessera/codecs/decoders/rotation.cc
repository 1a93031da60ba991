#include "tessera/codecs/decoders/rotation.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::decoders {

RotatedAxis::RotatedAxis(const Level& level, bool pre)
    : pre_(pre), batch_(level.place.batch), values_(level.values), memory_(level.BatchDims()), logical_{batch_} {
  for (uint64_t dim : level.shape) logical_.push_back(static_cast<int64_t>(dim));
  along_ = pre ? logical_.back() : logical_[1];
  others_ = along_ == 0 ? 0 : values_ / along_;
  to_logical_.resize(logical_.size());
  to_memory_ = {0};
  for (size_t i = 0; i < level.order.size(); ++i) {
    to_logical_[level.order[i] + 1] = static_cast<int64_t>(i) + 1;
    to_memory_.push_back(static_cast<int64_t>(level.order[i]) + 1);
  }
}

Value RotatedAxis::Enter(FunctionBuilder* builder, const Value& values) const {
  const Value x = builder->Transpose(builder->Reshape(values, memory_), to_logical_);
  return builder->Reshape(x, pre_ ? Dims{batch_, others_, along_} : Dims{batch_, along_, others_});
}

Value RotatedAxis::Leave(FunctionBuilder* builder, const Value& x) const {
  return builder->Reshape(builder->Transpose(builder->Reshape(x, logical_), to_memory_), {batch_, values_});
}

Value RotatedAxis::Hadamard(FunctionBuilder* builder, Value x, int64_t size) const {
  FunctionBuilder& b = *builder;
  const Dims dims = x.dims;
  // The rotated axis in front, so that what is added lies in long runs: onnxruntime takes single elements out of an
  // innermost axis one by one.
  const int64_t rows = values_ == 0 || !pre_ ? 0 : batch_ * others_ * (along_ / size);
  const bool turned = rows > 1;
  if (turned) x = b.Transpose(b.Reshape(x, {rows, size}), {1, 0});
  const int64_t inner = turned ? rows : pre_ ? 1 : others_;
  const int64_t outer = turned ? 1 : pre_ ? batch_ * others_ * (along_ / size) : batch_ * (along_ / size);
  for (int64_t half = 1; half < size;) {
    // Up to three strides at once, from half on, so that everything is taken apart and put together less often.
    const int64_t ways = std::min<int64_t>(8, size / half);
    x = b.Reshape(x, {outer * (size / (ways * half)), ways, half * inner});
    std::vector<Value> parts;
    for (int64_t i = 0; i < ways; ++i) parts.push_back(b.Slice(x, 1, i, i + 1));
    for (size_t stride = 1; stride < parts.size(); stride *= 2) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if ((i & stride) != 0) continue;
        const Value sum = b.Add(parts[i], parts[i + stride]);
        parts[i + stride] = b.Sub(parts[i], parts[i + stride]);
        parts[i] = sum;
      }
    }
    x = b.Concat(parts, 1);
    half *= ways;
  }
  const double norm = 1 / std::sqrt(static_cast<double>(size));
  x = b.Mul(x, b.Cast(b.Scalar(static_cast<float>(norm)), x.type));
  if (turned) x = b.Transpose(b.Reshape(x, {size, rows}), {1, 0});
  return b.Reshape(x, dims);
}

}  // namespace tessera::decoders
