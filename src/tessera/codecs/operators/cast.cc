// Cast and BitCast.
#include <array>
#include <cmath>
#include <limits>

#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

Result<ElementType> TargetOf(const NodeRun& run) {
  TESSERA_ASSIGN(const int64_t number, run.Int("to", 0));
  const std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type || !IsFixedWidth(*type))
    return run.Fail(fmt::format("{} is no element type", number), "one of fixed width");
  return *type;
}

bool IsFloat(ElementType type) { return Info(type).kind == ElementKind::kFloat; }
bool IsSigned(ElementType type) { return Info(type).kind == ElementKind::kSigned; }

// A whole number as a double that rounds to every shorter float as the number does: inexact ones get an odd last bit.
double RoundedToOdd(uint64_t magnitude) {
  constexpr uint64_t kExact = uint64_t{1} << 53;
  if (magnitude < kExact) return static_cast<double>(magnitude);
  int shift = 0;
  uint64_t kept = magnitude;
  bool sticky = false;
  while (kept >= kExact) {
    sticky = sticky || (kept & 1) != 0;
    kept >>= 1;
    ++shift;
  }
  return std::ldexp(static_cast<double>(kept | (sticky ? 1 : 0)), shift);
}

// Towards 0; what the type does not hold becomes its least or largest number, NaN 0. ONNX leaves both open.
uint64_t Truncated(double value, ElementType to) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  const auto low = static_cast<double>(MinInteger(to));
  const uint64_t most = MaxInteger(to);
  // 2^63 and 2^64 for the widest types, which the comparison takes as "beyond".
  if (value <= low) return EncodeInteger(to, MinInteger(to));
  if (value >= static_cast<double>(most)) {
    return BitWidth(to) == 64 ? most : EncodeInteger(to, static_cast<int64_t>(most));
  }
  if (IsSigned(to)) return EncodeInteger(to, static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

Result<Tensor> Cast(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const ElementType to, TargetOf(run));
  TESSERA_ASSIGN(const int64_t saturate, run.Int("saturate", 1));
  TESSERA_ASSIGN(const std::string mode, run.Text("round_mode", "up"));
  if (mode != "up" && mode != "down" && mode != "nearest") {
    return run.Fail("round_mode is " + Quoted(mode), "up, down or nearest");
  }
  const ScaleRounding rounding = mode == "up"     ? ScaleRounding::kUp
                                 : mode == "down" ? ScaleRounding::kDown
                                                  : ScaleRounding::kNearest;
  const Overflow overflow = saturate != 0 ? Overflow::kSaturate : Overflow::kOverflow;
  TESSERA_ASSIGN(Tensor result, run.New(to, x.dims));
  const size_t width = UnpackedBytes(to);
  const uint64_t mask = BitWidth(to) >= 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(to)) - 1;
  for (uint64_t i = 0; i < x.Count(); ++i) {
    const uint64_t code = x.Code(i);
    uint64_t made = 0;
    if (x.type == to) {
      made = code;
    } else if (IsFloat(x.type)) {
      const double value = DecodeFloat(x.type, code);
      if (to == ElementType::kBool)
        made = value != 0 ? 1 : 0;  // NaN is true
      else if (IsFloat(to))
        made = EncodeFloat(to, value, overflow, rounding);
      else
        made = Truncated(value, to);
    } else {
      const int64_t integer = DecodeInteger(x.type, code);
      if (to == ElementType::kBool) {
        made = integer != 0 ? 1 : 0;
      } else if (IsFloat(to)) {
        const bool negative = IsSigned(x.type) && integer < 0;
        const uint64_t magnitude =
            negative ? uint64_t{0} - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
        if (to == ElementType::kDouble) {
          const double exact = negative ? static_cast<double>(integer) : static_cast<double>(magnitude);
          std::memcpy(&made, &exact, sizeof(made));
        } else {
          const double odd = RoundedToOdd(magnitude);
          made = EncodeFloat(to, negative ? -odd : odd, overflow, rounding);
        }
      } else {
        made = static_cast<uint64_t>(integer) & mask;  // the higher bits are dropped
      }
    }
    std::memcpy(result.bytes.data() + i * width, &made, width);
  }
  return result;
}

Result<Tensor> BitCast(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const ElementType to, TargetOf(run));
  if (BitWidth(to) != BitWidth(x.type)) {
    return run.Fail(fmt::format("{} has another width than {}", Name(to), Name(x.type)),
                    fmt::format("a type of {} bits", BitWidth(x.type)));
  }
  TESSERA_ASSIGN(Tensor result, run.New(to, x.dims));
  result.bytes = x.bytes;
  if (to == ElementType::kBool) {
    for (uint8_t& value : result.bytes) value = value != 0 ? 1 : 0;
  }
  return result;
}

}  // namespace

std::span<const Implementation> CastOperators() {
  static constexpr std::array kRows = {One<BitCast>("BitCast"), One<Cast>("Cast")};
  return kRows;
}

}  // namespace tessera
