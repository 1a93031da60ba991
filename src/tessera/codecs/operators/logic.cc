// Comparisons, and operations on truth values.
#include <array>
#include <cmath>
#include <functional>

#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

template <typename Comparison>
Result<Tensor> Compare(const NodeRun& run) {
  const Tensor& a = run.Input(0);
  const Tensor& b = run.Input(1);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(ElementType::kBool, shape.dims()));
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    shape.ForEach([&](uint64_t i, const uint64_t* at) {
      result.bytes[i] = Comparison()(N::Load(a.bytes.data(), at[0]), N::Load(b.bytes.data(), at[1])) ? 1 : 0;
    });
  });
  return result;
}

Result<Tensor> Not(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(Tensor result, run.New(x.type, x.dims));
  for (size_t i = 0; i < x.bytes.size(); ++i) result.bytes[i] = x.bytes[i] == 0 ? 1 : 0;
  return result;
}

template <typename F>
Result<Tensor> TestFloat(const NodeRun& run, F f) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(Tensor result, run.New(ElementType::kBool, x.dims));
  for (uint64_t i = 0; i < x.Count(); ++i) result.bytes[i] = f(x.type, x.Code(i)) ? 1 : 0;
  return result;
}

Result<Tensor> IsNaN(const NodeRun& run) {
  return TestFloat(run, [](ElementType type, uint64_t code) { return IsNan(type, code); });
}

Result<Tensor> IsInf(const NodeRun& run) {
  TESSERA_ASSIGN(const int64_t positive, run.Int("detect_positive", 1));
  TESSERA_ASSIGN(const int64_t negative, run.Int("detect_negative", 1));
  return TestFloat(run, [&](ElementType type, uint64_t code) {
    return IsInfinite(type, code) && (DecodeFloat(type, code) > 0 ? positive : negative) != 0;
  });
}

Result<Tensor> Where(const NodeRun& run) {
  const Tensor& condition = run.Input(0);
  const Tensor& yes = run.Input(1);
  const Tensor& no = run.Input(2);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&condition, &yes, &no}));
  TESSERA_ASSIGN(Tensor result, run.New(yes.type, shape.dims()));
  const size_t width = UnpackedBytes(yes.type);
  shape.ForEach([&](uint64_t i, const uint64_t* at) {
    const uint8_t* from =
        condition.bytes[at[0]] != 0 ? yes.bytes.data() + at[1] * width : no.bytes.data() + at[2] * width;
    std::memcpy(result.bytes.data() + i * width, from, width);
  });
  return result;
}

}  // namespace

std::span<const Implementation> LogicOperators() {
  static constexpr std::array kRows = {
      One<Compare<std::logical_and<>>>("And"),
      One<Compare<std::equal_to<>>>("Equal"),
      One<Compare<std::greater<>>>("Greater"),
      One<Compare<std::greater_equal<>>>("GreaterOrEqual"),
      One<IsInf>("IsInf"),
      One<IsNaN>("IsNaN"),
      One<Compare<std::less<>>>("Less"),
      One<Compare<std::less_equal<>>>("LessOrEqual"),
      One<Not>("Not"),
      One<Compare<std::logical_or<>>>("Or"),
      One<Where>("Where"),
      One<Compare<std::not_equal_to<>>>("Xor"),
  };
  return kRows;
}

}  // namespace tessera
