// Scales that are stored: the largest magnitude of the values that share one, over the largest that codes reach.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tessera/codecs/decoders/code_values.h"
#include "tessera/codecs/decoders/decoder_writer.h"
#include "tessera/codecs/encoders/encoder_writer.h"
#include "tessera/codecs/payload_reader.h"
#include "tessera/types/type_table.h"

namespace tessera::encoders {
namespace {

// The largest of each row of [rows, n], n > 0: [rows, 1]. No operator of decoders goes along an axis but by halves.
Value LargestOfRows(FunctionBuilder* builder, Value x) {
  while (x.dims[1] > 1) {
    const int64_t n = x.dims[1];
    const int64_t half = (n + 1) / 2;
    x = builder->Max(builder->Slice(x, 1, 0, half), builder->Slice(x, 1, n - half, n));
  }
  return x;
}

double Most(ElementType type) {
  return type == ElementType::kDouble ? std::numeric_limits<double>::max()
                                      : static_cast<double>(std::numeric_limits<float>::max());
}

// magnitudes / divisor, finite.
Value WantedScales(FunctionBuilder* builder, const Value& magnitudes, double divisor) {
  FunctionBuilder& b = *builder;
  auto number = [&](double value) { return b.Const(MakeFloats(magnitudes.type, {}, {{value}})); };
  if (divisor == 1) return magnitudes;
  const Value scales = b.Div(magnitudes, number(divisor));
  return divisor < 1 ? b.Min(scales, number(Most(magnitudes.type))) : scales;
}

double PowerOfTwoBelow(double value) { return std::ldexp(1.0, std::ilogb(value)); }

}  // namespace

std::pair<Value, Value> EncoderWriter::ScaleCodes(const Value& magnitudes, ElementType type, double largest) {
  FunctionBuilder& b = builder_;
  const ElementInfo& info = Info(type);
  const bool power = info.format.specials == FloatSpecials::kExponentOnly;
  const Value exact = WantedScales(&b, magnitudes, power ? PowerOfTwoBelow(largest) : largest);
  if (info.kind != ElementKind::kFloat) {
    const IntegerRange range = RangeOf(type, info.bits);
    const Value codes = IntegerCodes(&b, exact, range, info.bits, {{0}});
    const double most = AtMost(compute_, static_cast<double>(range.high));
    return {codes, b.Min(b.Round(exact), Number(most))};
  }
  const Value codes = FloatTypeCodes(&b, exact, {}, type, Beyond::kLargest, ScaleRounding::kDown);
  if (info.bits <= 32 && type != compute_) return {codes, decoders::FloatOfType(&b, compute_, codes, type)};
  return {codes, exact};
}

Result<Value> EncoderWriter::NestedScales(const Level& level, const tessera::Stored& stored, const Value& wanted) {
  FunctionBuilder& b = builder_;
  TESSERA_ASSIGN(Level nested, decoders::ParameterLevel(types_, level, stored, "scale"));
  const int64_t batch = nested.place.batch;
  TESSERA_TRY(Encode(nested, b.Reshape(wanted, {batch, nested.values})));
  TESSERA_ASSIGN(const Value bytes, Bytes(nested.place));
  // Read back as a value of its own, whose one field is an array of the declaration.
  std::vector<StructType> types(types_.begin(), types_.begin() + nested.place.type + 1);
  PhysicalType reference{TypeReference{nested.place.type}};
  StructureType root{{quant::PartField("scale", quant::ArrayOf(std::move(reference), {static_cast<uint64_t>(batch)}))}};
  StructType& wrapper = types.emplace_back();
  wrapper.root.kind = std::move(root);
  wrapper.name = "SCALES";
  Problems problems;
  const TypeTable table = TypeTable::Build(types, limits_, &problems);
  const std::shared_ptr<const CheckedType> type = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());
  const Value payload = b.Reshape(b.Cast(bytes, ElementType::kUint8), {CountOf(bytes.dims)});
  std::vector<Value> leaves;
  for (const tessera::Leaf& leaf : type->leaves) {
    TESSERA_ASSIGN(Value value, ReadLeaf(&b, payload, 0, leaf));
    leaves.push_back(std::move(value));
  }
  decoders::DecoderWriter decoder(&b, types, *type, leaves, compute_ == ElementType::kDouble);
  nested.place.prefix = "scale.";
  Result<Value> scales = decoder.Decode(nested);
  if (!scales) return NoEncoder(std::move(scales).error().what, "scales of an element type");
  return b.Reshape(*scales, wanted.dims);
}

Result<Value> EncoderWriter::Stored(const Level& level, const Value& values, const tessera::Stored& stored,
                                    double largest) {
  FunctionBuilder& b = builder_;
  // The values that share a scale are those of a row.
  const bool per_channel = stored.per == tessera::Stored::Per::kChannel;
  const bool outer = stored.per == tessera::Stored::Per::kTensor && level.in_tile;
  const Level& owner = outer ? *level.root : level;
  Value shaped = values;
  std::vector<int64_t> perm;
  if (per_channel) {
    const auto at = static_cast<int64_t>(level.MemoryAxis(level.ChannelAxis()));
    shaped = b.Reshape(values, level.BatchDims());
    perm = {0, 1 + at};
    for (size_t i = 0; i < level.order.size(); ++i) {
      if (static_cast<int64_t>(i) != at) perm.push_back(static_cast<int64_t>(i) + 1);
    }
    shaped = b.Transpose(shaped, perm);
  }
  const Dims transposed = shaped.dims;
  const int64_t rows = per_channel ? level.place.batch * transposed[1] : owner.place.batch;
  const int64_t in_row = rows == 0 ? 0 : CountOf(values.dims) / rows;
  shaped = b.Reshape(shaped, {rows, in_row});
  // Infinity shall have a finite scale.
  const Value magnitudes = rows == 0 || in_row == 0 ? b.Expand(b.Const(MakeFloats(compute_, {1, 1}, {{0}})), {rows, 1})
                                                    : b.Min(LargestOfRows(&b, b.Abs(shaped)), Number(Most(compute_)));
  const Value zero = Number(0);
  Value scales;
  Value useless;
  if (const auto* type = std::get_if<ElementType>(&stored.type)) {
    const auto [codes, meaning] = ScaleCodes(magnitudes, *type, largest);
    Store(owner.place, "scale", codes, BitWidth(*type));
    scales = meaning;
    useless = b.Equal(scales, zero);
  } else {
    // Powers of two are rounded down here as well, before the cast would round them up.
    const auto* cast = std::get_if<CastProfile>(&std::get<Box<Profile>>(stored.type)->kind);
    const bool power = cast != nullptr && Info(cast->storage_type).format.specials == FloatSpecials::kExponentOnly;
    Value wanted = WantedScales(&b, magnitudes, power ? PowerOfTwoBelow(largest) : largest);
    if (power) {
      const Value powers = FloatTypeCodes(&b, wanted, {}, cast->storage_type, Beyond::kLargest, ScaleRounding::kDown);
      wanted = decoders::FloatOfType(&b, compute_, powers, cast->storage_type);
    }
    TESSERA_ASSIGN(scales, NestedScales(level, stored, wanted));
    // A profile may also make infinity or NaN of a number.
    const Value size = b.Abs(scales);
    const Value usable = b.And(b.Less(zero, size), b.Less(size, Number(HUGE_VAL)));
    useless = b.Equal(usable, b.Const(ElementType::kBool, {}, {{0}}));
  }
  Value quotients = b.Where(useless, zero, b.Div(shaped, scales));
  if (per_channel) {
    std::vector<int64_t> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    quotients = b.Transpose(b.Reshape(quotients, transposed), back);
  }
  return b.Reshape(quotients, values.dims);
}

}  // namespace tessera::encoders
