#include "tessera/codecs/decoders/rotation.h"

#include <cmath>

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
  // Blocks of the axis, and what lies inside an element of it.
  const int64_t inner = pre_ ? 1 : others_;
  const int64_t outer = pre_ ? batch_ * others_ * (along_ / size) : batch_ * (along_ / size);
  for (int64_t half = 1; half < size; half *= 2) {
    x = b.Reshape(x, {outer * (size / (2 * half)), 2, half * inner});
    const Value first = b.Slice(x, 1, 0, 1);
    const Value second = b.Slice(x, 1, 1, 2);
    x = b.Concat({b.Add(first, second), b.Sub(first, second)}, 1);
  }
  const double norm = 1 / std::sqrt(static_cast<double>(size));
  return b.Mul(x, b.Cast(b.Scalar(static_cast<float>(norm)), x.type));
}

}  // namespace tessera::decoders
