// Arithmetic on numbers.
#include <array>
#include <cmath>
#include <limits>

#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

// Integers wrap around. The narrow ones are computed as int, which cannot overflow.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), int32_t, std::make_unsigned_t<T>>;

struct AddOf {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct SubOf {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a - b;
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct MulOf {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else if constexpr (sizeof(T) == 2)  // 65535 * 65535 passes int
      return static_cast<T>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
    else
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct MaxOf {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return a < b ? b : a;
  }
};
struct MinOf {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return b < a ? b : a;
  }
};

template <typename Operation>
Result<Tensor> Binary(const NodeRun& run, const Tensor& a, const Tensor& b) {
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(a.type, shape.dims()));
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    shape.ForEach([&](uint64_t i, const uint64_t* at) {
      N::Store(result.bytes.data(), i,
               Operation::Apply(N::Load(a.bytes.data(), at[0]), N::Load(b.bytes.data(), at[1])));
    });
  });
  return result;
}

template <typename Operation>
Result<Tensor> TwoInputs(const NodeRun& run) {
  return Binary<Operation>(run, run.Input(0), run.Input(1));
}

// Of any number of inputs, from the first on.
template <typename Operation>
Result<Tensor> Variadic(const NodeRun& run) {
  Tensor result = run.Input(0);
  for (size_t i = 1; i < run.input_count(); ++i) {
    TESSERA_ASSIGN(result, Binary<Operation>(run, result, run.Input(i)));
  }
  return result;
}

template <typename F>
Result<Tensor> Map(const NodeRun& run, F f) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(Tensor result, run.New(x.type, x.dims));
  WithNumber(x.type, [&](auto number) {
    using N = decltype(number);
    for (uint64_t i = 0; i < x.Count(); ++i) N::Store(result.bytes.data(), i, f(N::Load(x.bytes.data(), i)));
  });
  return result;
}

Result<Tensor> Abs(const NodeRun& run) {
  return Map(run, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else if constexpr (std::is_signed_v<T>)
      return x < 0 ? SubOf::Apply(T{0}, x) : x;
    else
      return x;
  });
}

Result<Tensor> Neg(const NodeRun& run) {
  return Map(run, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return SubOf::Apply(T{0}, x);
  });
}

Result<Tensor> Sign(const NodeRun& run) {
  return Map(run, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return x;
    }
    return static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
  });
}

template <typename F>
Result<Tensor> MapFloat(const NodeRun& run, F f) {
  return Map(run, [&](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>)
      return f(x);
    else
      return x;
  });
}
Result<Tensor> Ceil(const NodeRun& run) {
  return MapFloat(run, [](auto x) { return std::ceil(x); });
}
Result<Tensor> Floor(const NodeRun& run) {
  return MapFloat(run, [](auto x) { return std::floor(x); });
}
// Half to even, which is the processor's mode.
Result<Tensor> Round(const NodeRun& run) {
  return MapFloat(run, [](auto x) { return std::nearbyint(x); });
}
Result<Tensor> Reciprocal(const NodeRun& run) {
  return MapFloat(run, [](auto x) { return decltype(x){1} / x; });
}

// Integers are truncated. Division by 0 has no result.
Result<Tensor> Div(const NodeRun& run) {
  const Tensor& a = run.Input(0);
  const Tensor& b = run.Input(1);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(a.type, shape.dims()));
  bool by_zero = false;
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    using T = typename N::Work;
    shape.ForEach([&](uint64_t i, const uint64_t* at) {
      const T x = N::Load(a.bytes.data(), at[0]);
      const T y = N::Load(b.bytes.data(), at[1]);
      T quotient{};
      if constexpr (std::is_floating_point_v<T>) {
        quotient = x / y;
      } else if (y == 0) {
        by_zero = true;
      } else if (std::is_signed_v<T> && y == static_cast<T>(-1)) {
        quotient = SubOf::Apply(T{0}, x);  // the least number has no opposite
      } else {
        quotient = static_cast<T>(x / y);
      }
      N::Store(result.bytes.data(), i, quotient);
    });
  });
  if (by_zero) return run.Fail("an integer is divided by 0", "divisors that are not 0");
  return result;
}

// fmod 0: integers, with the sign of the divisor. fmod 1: with the sign of the dividend.
Result<Tensor> Mod(const NodeRun& run) {
  const Tensor& a = run.Input(0);
  const Tensor& b = run.Input(1);
  TESSERA_ASSIGN(const int64_t fmod, run.Int("fmod", 0));
  if (fmod == 0 && Info(a.type).kind == ElementKind::kFloat) {
    return run.Fail(fmt::format("Mod of {} without fmod", Name(a.type)), "fmod = 1");
  }
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(a.type, shape.dims()));
  bool by_zero = false;
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    using T = typename N::Work;
    shape.ForEach([&](uint64_t i, const uint64_t* at) {
      const T x = N::Load(a.bytes.data(), at[0]);
      const T y = N::Load(b.bytes.data(), at[1]);
      T rest{};
      if constexpr (std::is_floating_point_v<T>) {
        rest = std::fmod(x, y);
      } else if (y == 0) {
        by_zero = true;
      } else if (!std::is_signed_v<T> || y != static_cast<T>(-1)) {
        rest = static_cast<T>(x % y);
        if (fmod == 0 && rest != 0 && (rest < 0) != (y < 0)) rest = static_cast<T>(rest + y);
      }
      N::Store(result.bytes.data(), i, rest);
    });
  });
  if (by_zero) return run.Fail("the remainder of a division by 0", "divisors that are not 0");
  return result;
}

template <typename T>
T IntegerPower(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return exponent % 2 == 0 ? T{1} : static_cast<T>(-1);
    return 0;
  }
  T power = 1;
  for (T square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = MulOf::Apply(power, square);
    square = MulOf::Apply(square, square);
  }
  return power;
}

// In double for floats, rounded to the base's type.
Result<Tensor> Pow(const NodeRun& run) {
  const Tensor& a = run.Input(0);
  const Tensor& b = run.Input(1);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(a.type, shape.dims()));
  WithNumber(a.type, [&](auto base_number) {
    WithNumber(b.type, [&](auto exponent_number) {
      using N = decltype(base_number);
      using E = decltype(exponent_number);
      using T = typename N::Work;
      shape.ForEach([&](uint64_t i, const uint64_t* at) {
        const T base = N::Load(a.bytes.data(), at[0]);
        const auto exponent = E::Load(b.bytes.data(), at[1]);
        T power{};
        if constexpr (std::is_integral_v<T>) {
          if constexpr (std::is_integral_v<decltype(exponent)>) {
            power = IntegerPower(base, static_cast<int64_t>(exponent));
          } else {
            const double value = std::trunc(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
            const auto low = static_cast<double>(std::numeric_limits<T>::min());
            if (value >= low && value < -low) power = static_cast<T>(value);
          }
        } else {
          power = static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
        }
        N::Store(result.bytes.data(), i, power);
      });
    });
  });
  return result;
}

Result<Tensor> Clip(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor* low = nullptr;
  const Tensor* high = nullptr;
  if (run.HasInput(1)) {
    TESSERA_ASSIGN(low, run.Single(1, "min"));
  }
  if (run.HasInput(2)) {
    TESSERA_ASSIGN(high, run.Single(2, "max"));
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, x.dims));
  WithNumber(x.type, [&](auto number) {
    using N = decltype(number);
    for (uint64_t i = 0; i < x.Count(); ++i) {
      auto value = N::Load(x.bytes.data(), i);
      // As ONNX has it: the upper bound wins.
      if (low != nullptr && value < N::Load(low->bytes.data(), 0)) value = N::Load(low->bytes.data(), 0);
      if (high != nullptr && N::Load(high->bytes.data(), 0) < value) value = N::Load(high->bytes.data(), 0);
      N::Store(result.bytes.data(), i, value);
    }
  });
  return result;
}

// Elements of one type as bits.
template <typename F>
Result<Tensor> BitwiseOf(const NodeRun& run, F f) {
  const Tensor& a = run.Input(0);
  const Tensor& b = run.Input(1);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a, &b}));
  TESSERA_ASSIGN(Tensor result, run.New(a.type, shape.dims()));
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    using T = typename N::Work;
    if constexpr (std::is_integral_v<T>) {
      shape.ForEach([&](uint64_t i, const uint64_t* at) {
        N::Store(result.bytes.data(), i,
                 static_cast<T>(f(N::Load(a.bytes.data(), at[0]), N::Load(b.bytes.data(), at[1]))));
      });
    }
  });
  return result;
}

Result<Tensor> BitwiseAnd(const NodeRun& run) {
  return BitwiseOf(run, [](auto a, auto b) { return a & b; });
}
Result<Tensor> BitwiseOr(const NodeRun& run) {
  return BitwiseOf(run, [](auto a, auto b) { return a | b; });
}
Result<Tensor> BitwiseXor(const NodeRun& run) {
  return BitwiseOf(run, [](auto a, auto b) { return a ^ b; });
}
Result<Tensor> BitwiseNot(const NodeRun& run) {
  return Map(run, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(~x);
    else
      return x;
  });
}

// What is moved out of the width is lost, all of it by the width and more.
Result<Tensor> BitShift(const NodeRun& run) {
  TESSERA_ASSIGN(const std::string direction, run.Text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT") {
    return run.Fail("the direction is " + Quoted(direction), "LEFT or RIGHT");
  }
  const bool left = direction == "LEFT";
  const uint64_t width = BitWidth(run.Input(0).type);
  return BitwiseOf(run, [&](auto x, auto bits) {
    const auto wide = static_cast<uint64_t>(x);
    if (static_cast<uint64_t>(bits) >= width) return uint64_t{0};
    return left ? wide << bits : wide >> bits;
  });
}

}  // namespace

std::span<const Implementation> ElementwiseOperators() {
  static constexpr std::array kRows = {
      One<Abs>("Abs"),
      One<TwoInputs<AddOf>>("Add"),
      One<BitShift>("BitShift"),
      One<BitwiseAnd>("BitwiseAnd"),
      One<BitwiseNot>("BitwiseNot"),
      One<BitwiseOr>("BitwiseOr"),
      One<BitwiseXor>("BitwiseXor"),
      One<Ceil>("Ceil"),
      One<Clip>("Clip"),
      One<Div>("Div"),
      One<Floor>("Floor"),
      One<Variadic<MaxOf>>("Max"),
      One<Variadic<MinOf>>("Min"),
      One<Mod>("Mod"),
      One<TwoInputs<MulOf>>("Mul"),
      One<Neg>("Neg"),
      One<Pow>("Pow"),
      One<Reciprocal>("Reciprocal"),
      One<Round>("Round"),
      One<Sign>("Sign"),
      One<TwoInputs<SubOf>>("Sub"),
  };
  return kRows;
}

}  // namespace tessera
