#include "tessera/codecs/encoders/encoder_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/codecs/decoders/code_values.h"
#include "tessera/codecs/decoders/rotation.h"

namespace tessera::encoders {
namespace {

struct Row {
  FamilyEncoder encode = nullptr;
  std::string_view why_not = {};
};

// In the order of kFamilyNames.
constexpr std::array<Row, std::size(kFamilyNames)> kFamilies = {{
    {EncodeLinear},
    {EncodeCodebook},
    {EncodeFloatingPoint},
    {nullptr, "which values are outliers is the choice of whoever encodes"},
    {EncodeLog},
    {nullptr, "its codes come from an operator that is not a standard one"},
    {EncodeTiling},
    {EncodeCast},
    {nullptr, "scales and zero points of blocks are the choice of whoever encodes"},
}};

std::optional<uint32_t> ElementBits(const PhysicalType& type) {
  if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) return BitWidth(scalar->type);
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
    if (const auto* scalar = std::get_if<ScalarType>(&array->element->kind)) return BitWidth(scalar->type);
  }
  if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    uint32_t bits = 0;
    for (const auto& component : packing->components) bits += component.bits;
    return bits;
  }
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> EncoderWriter::NoEncoder(std::string what, std::string fix) const {
  return Fail(ErrorCode::kNoEncoder, types_.back().Name(), std::move(what), std::move(fix));
}

// ---- Leaves

void EncoderWriter::Store(const Place& place, std::string_view field, const Value& codes, uint32_t bits) {
  stored_[place.prefix + std::string(field)] = {codes, bits};
}

Result<void> EncoderWriter::StoreCodes(const Place& place, std::string_view field, const Value& codes, uint32_t bits) {
  const quant::Reader reader = Read(place.type);
  const PhysicalType* part = reader.FindPart(field);
  const std::optional<uint32_t> width = part == nullptr ? std::nullopt : ElementBits(*part);
  if (!width) return reader.NotAProfile(field, "is no array of codes");
  if (*width == bits) {
    Store(place, field, codes, bits);
  } else if (*width == 8) {
    Store(place, field, Pack(&builder_, codes, bits, 8), 8);
  } else {
    return reader.NotAProfile(field, "has elements of another width");
  }
  return {};
}

Value EncoderWriter::PaddedTo(const Value& x, int64_t wanted) {
  const int64_t missing = wanted - x.dims[1];
  if (missing <= 0) return x;
  FunctionBuilder& b = builder_;
  return b.Concat({x, b.Expand(b.Const(x.type, {1, 1}, {{0}}), {x.dims[0], missing})}, 1);
}

void EncoderWriter::StoreGroups(const Place& place, std::string_view field, const Value& codes, uint32_t bits,
                                int64_t per_group, int64_t group_bytes) {
  const int64_t batch = codes.dims[0];
  const int64_t groups = (codes.dims[1] + per_group - 1) / per_group;
  const Value rows = builder_.Reshape(PaddedTo(codes, groups * per_group), {batch * groups, per_group});
  const Value bytes = PaddedTo(Pack(&builder_, rows, bits, 8), group_bytes);
  Store(place, field, builder_.Reshape(bytes, {batch, groups * group_bytes}), 8);
}

Result<EncoderWriter::Leaf> EncoderWriter::Part(const quant::Reader& reader, const PhysicalType& type,
                                                const Place& place, std::string_view field) {
  FunctionBuilder& b = builder_;
  std::vector<uint64_t> dims = quant::DimsOf(type);
  if (quant::Recoverer::Target(type) >= 0) {
    TESSERA_ASSIGN(const Place inside, decoders::Inside(reader, place, field));
    TESSERA_ASSIGN(const Value bytes, Bytes(inside));
    return Leaf{b.Reshape(bytes, {place.batch, inside.batch / std::max<int64_t>(1, place.batch) * bytes.dims[1]}), 8};
  }
  const std::optional<uint32_t> bits = ElementBits(type);
  if (!bits) return reader.NotAProfile(field, "is no array of codes");
  const auto count = static_cast<int64_t>(CheckedProduct(dims).value_or(0));
  if (field.starts_with("padding")) {
    return Leaf{b.Expand(b.Const(ElementType::kInt32, {1, 1}, {{0}}), {place.batch, count}), *bits};
  }
  auto found = stored_.find(place.prefix + std::string(field));
  if (found == stored_.end() || found->second.bits != *bits ||
      CountOf(found->second.codes.dims) != place.batch * count) {
    return reader.NotAProfile(field, "has no codes");
  }
  return Leaf{b.Reshape(found->second.codes, {place.batch, count}), *bits};
}

Result<Value> EncoderWriter::Bytes(const Place& place) {
  FunctionBuilder& b = builder_;
  const quant::Reader reader = Read(place.type);
  std::vector<Leaf> parts;
  if (!reader.is_structure()) {
    const auto [outside, field] = decoders::BareArray(place);
    TESSERA_ASSIGN(Leaf part, Part(reader, reader.type().root, outside, field));
    parts.push_back(std::move(part));
  } else {
    for (const Field& field : reader.fields()) {
      const auto* type = std::get_if<PhysicalType>(&field.content);
      if (type == nullptr) continue;
      TESSERA_ASSIGN(Leaf part, Part(reader, *type, place, field.name));
      parts.push_back(std::move(part));
    }
  }
  // Fields need not begin at bytes: units that all of them are whole numbers of.
  uint32_t unit = 8;
  for (const Leaf& part : parts) {
    unit = static_cast<uint32_t>(std::gcd(unit, static_cast<uint64_t>(part.codes.dims[1]) * part.bits));
  }
  std::vector<Value> units;
  for (const Leaf& part : parts) {
    if (part.codes.dims[1] > 0) units.push_back(Pack(&b, part.codes, part.bits, unit));
  }
  if (units.empty()) return b.Expand(b.Const(ElementType::kInt32, {1, 1}, {{0}}), {place.batch, 0});
  return Pack(&b, b.Concat(units, 1), unit, 8);
}

// ---- Values

Value EncoderWriter::WithoutNan(const Value& values, Value* nan) {
  const Value is_nan = builder_.IsNan(values);
  if (nan != nullptr) *nan = is_nan;
  return builder_.Where(is_nan, Number(0), values);
}

double EncoderWriter::ConstantScale(const Scale& scale) const {
  if (const auto* number = std::get_if<float>(&scale)) return *number;
  if (const auto* power = std::get_if<ScaleExponent>(&scale)) {
    // Rounded as the decoder's table has it.
    const double value = std::ldexp(1.0, std::clamp(power->exponent, -2'000, 2'000));
    return compute_ == ElementType::kDouble ? value : static_cast<double>(static_cast<float>(value));
  }
  return 1;
}

Value EncoderWriter::DividedBy(const Value& values, const Dims& dims, std::span<const double> scales) {
  FunctionBuilder& b = builder_;
  std::vector<double> divisors;
  std::vector<int64_t> useless;
  for (double scale : scales) {
    useless.push_back(scale == 0 || !std::isfinite(scale) ? 1 : 0);
    divisors.push_back(useless.back() != 0 ? 1 : scale);
  }
  auto all = [](const auto& list, auto value) {
    return std::all_of(list.begin(), list.end(), [&](auto entry) { return entry == value; });
  };
  Value quotients = values;
  if (!all(divisors, 1.0)) quotients = b.Div(values, b.Const(MakeFloats(compute_, dims, divisors)));
  if (all(useless, 0)) return quotients;
  return b.Where(b.Const(ElementType::kBool, dims, useless), Number(0), quotients);
}

Result<Value> EncoderWriter::Quotients(const Level& level, const Value& values, const Scale& scale, double largest) {
  if (const auto* stored = std::get_if<tessera::Stored>(&scale)) return Stored(level, values, *stored, largest);
  return DividedBy(values, {}, {{ConstantScale(scale)}});
}

// ---- A level

Result<Value> EncoderWriter::Unrotated(const Level& level, const Value& values, const Rotation& rotation, bool pre) {
  FunctionBuilder& b = builder_;
  const decoders::RotatedAxis axis(level, pre);
  if (rotation.matrix_type == RotationType::kPlain && rotation.dims.size() != 1) {
    return NoEncoder("it is rotated by a matrix, whose inverse is not known", "a HADAMARD rotation, or a diagonal");
  }
  Value x = axis.Enter(&b, values);
  if (rotation.matrix_type == RotationType::kPlain) {
    const std::vector<double> diagonal(rotation.matrix.values.begin(), rotation.matrix.values.end());
    x = DividedBy(x, axis.Diagonal(), diagonal);
  } else {
    x = axis.Hadamard(&b, x, rotation.dims.back());
  }
  return axis.Leave(&b, x);
}

Result<void> EncoderWriter::Encode(const Level& level, Value values) {
  if (level.profile->post_rotation) {
    TESSERA_ASSIGN(values, Unrotated(level, values, *level.profile->post_rotation, /*pre=*/false));
  }
  if (level.profile->pre_rotation) {
    TESSERA_ASSIGN(values, Unrotated(level, values, *level.profile->pre_rotation, /*pre=*/true));
  }
  const Row& row = kFamilies[level.profile->kind.index() - 1];
  if (row.encode == nullptr) {
    return NoEncoder(fmt::format("{}: {}", NamesOf(*level.profile).field, row.why_not),
                     "an encoder given with the type");
  }
  return row.encode(this, level, values);
}

}  // namespace tessera::encoders
