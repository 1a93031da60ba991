#include "tessera/codecs/decoders/decoder_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "tessera/codecs/decoders/rotation.h"
#include "tessera/types/operators.h"

namespace tessera::decoders {
namespace {

// In the order of kFamilyNames.
constexpr std::array<FamilyDecoder, std::size(kFamilyNames)> kFamilies = {
    DecodeLinear,   DecodeCodebook, DecodeFloatingPoint, DecodeSparse,          DecodeLog,
    DecodeFunction, DecodeTiling,   DecodeCast,          DecodeStructuredBlock,
};

// Types that came to ONNX later give way to ones that all operators take.
ElementType PlainType(ElementType type) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kFloat) return info.bits < 16 ? ElementType::kFloat : type;
  if (info.bits >= 8) return type;
  return info.kind == ElementKind::kSigned ? ElementType::kInt8 : ElementType::kUint8;
}

}  // namespace

DecoderWriter::DecoderWriter(FunctionBuilder* builder, std::span<const StructType> types, const CheckedType& type,
                             std::span<const Value> leaves, bool wide)
    : builder_(*builder), types_(types), compute_(wide ? ElementType::kDouble : ElementType::kFloat) {
  for (size_t i = 0; i < leaves.size(); ++i) leaves_[type.leaves[i].path] = {&type.leaves[i], leaves[i]};
}

tl::unexpected<Error> DecoderWriter::NoDecoder(std::string what, std::string fix) const {
  return Fail(ErrorCode::kNoDecoder, types_.back().Name(), std::move(what), std::move(fix));
}

// ---- Leaves

Result<Value> DecoderWriter::Field(const Place& place, std::string_view field, ElementType as) {
  auto found = leaves_.find(place.prefix + std::string(field));
  if (found == leaves_.end()) {
    return Read(place.type).NotAProfile(field, "is missing");
  }
  const LeafValue& leaf = found->second;
  if (as == ElementType::kUndefined) as = PlainType(leaf.leaf->type);
  if (as != leaf.value.type && !builder_.CanCast(leaf.value.type)) return Number(leaf.value);
  // Before anything else: onnxruntime moves no data of small types.
  const Value value = builder_.Cast(leaf.value, as);
  if (leaf.leaf->constant != nullptr) return value;
  const int64_t count = CountOf(value.dims);
  return builder_.Reshape(value, {place.batch, place.batch == 0 ? 0 : count / place.batch});
}

Result<Value> DecoderWriter::Parameter(const Place& place, std::string_view field) {
  return Field(place, field, compute_);
}

// ---- Codes

Result<Value> DecoderWriter::Number(const Value& value) {
  if (value.type == compute_) return value;
  if (builder_.CanCast(value.type)) return builder_.Cast(value, compute_);
  const TypeFamily family = FindOperator("Cast")->types;
  for (int64_t opset = builder_.opset() + 1; opset <= kMaxOpset; ++opset) {
    if ((Types(family, opset) & MaskOf(value.type)) != 0) {
      return NoDecoder(fmt::format("opset {} does not convert {}", builder_.opset(), Name(value.type)),
                       fmt::format("opset {}", opset));
    }
  }
  return NoDecoder(fmt::format("no opset converts {}", Name(value.type)), "the codes declared as UINT8");
}

Result<Value> DecoderWriter::Unpack(const Value& bytes, uint32_t bits, int64_t count) {
  FunctionBuilder& b = builder_;
  if (bits > 63) {
    return NoDecoder(fmt::format("codes of {} bits are declared as bytes", bits), "an element type of that width");
  }
  const int64_t batch = bytes.dims[0];
  if (bits == 8) return b.Slice(bytes, 1, 0, count);
  if (batch == 0 || count == 0) return b.Const(ElementType::kUint8, {batch, count}, {});
  // Codes repeat their places in the bytes after `period` codes.
  const int64_t shared = std::gcd(int64_t{bits}, int64_t{8});
  const int64_t period = 8 / shared;
  const int64_t period_bytes = bits / shared;
  const int64_t periods = (count + period - 1) / period;
  Value padded = bytes;
  if (const int64_t missing = periods * period_bytes - bytes.dims[1]; missing > 0) {
    const std::vector<int64_t> zeros(static_cast<size_t>(batch * missing));
    padded = b.Concat({bytes, b.Const(ElementType::kUint8, {batch, missing}, zeros)}, 1);
  } else if (missing < 0) {
    padded = b.Slice(bytes, 1, 0, periods * period_bytes);
  }
  padded = b.Reshape(padded, {batch, periods, period_bytes});
  const bool narrow = 8 % bits == 0;
  const ElementType wide = bits <= kFloatBits ? ElementType::kFloat : ElementType::kInt64;
  std::vector<Value> codes;
  for (int64_t i = 0; i < period; ++i) {
    const int64_t first = i * bits;
    std::vector<Value> pieces;
    for (int64_t bit = first; bit < first + bits;) {
      const int64_t low = bit % 8;
      const int64_t taken = std::min<int64_t>(8 - low, first + bits - bit);
      // Of one dimension: onnxruntime takes 10 to 20 ns an element where the last dimension is 1 and the other input a
      // scalar.
      Value piece = b.Reshape(b.Slice(padded, 2, bit / 8, bit / 8 + 1), {batch * periods});
      piece = b.Bits(piece, static_cast<uint32_t>(low), static_cast<uint32_t>(taken));
      if (!narrow) {
        piece = b.Cast(piece, wide);
        if (bit > first) {
          const int64_t weight = int64_t{1} << (bit - first);
          const Value factor =
              wide == ElementType::kFloat ? b.Scalar(static_cast<float>(weight)) : b.Scalar(wide, weight);
          piece = b.Mul(piece, factor);
        }
      }
      pieces.push_back(piece);
      bit += taken;
    }
    Value code = pieces[0];
    for (size_t k = 1; k < pieces.size(); ++k) code = b.Add(code, pieces[k]);
    codes.push_back(b.Reshape(code, {batch, periods, 1}));
  }
  return b.Slice(b.Reshape(b.Concat(codes, 2), {batch, periods * period}), 1, 0, count);
}

Result<Value> DecoderWriter::Reinterpret(const Value& codes, ElementType type, uint32_t bits) {
  FunctionBuilder& b = builder_;
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kFloat) {
    if (bits > 32) return NoDecoder(fmt::format("{} is declared as bytes", info.name), "the type itself");
    return FloatOfType(&b, compute_, codes, type);
  }
  if (info.kind != ElementKind::kSigned) return b.Cast(codes, compute_);
  // Two's complement, before the numbers can be rounded.
  const bool wide = codes.type == ElementType::kInt64;
  return b.Cast(Signed(&b, wide ? codes : b.Cast(codes, compute_), bits), compute_);
}

Result<Value> DecoderWriter::Codes(const Place& place, std::string_view field, ElementType type, uint32_t bits,
                                   int64_t count) {
  std::string path(field);
  // The one component of a bit packing.
  if (!leaves_.contains(place.prefix + path)) path += "." + path;
  auto found = leaves_.find(place.prefix + path);
  if (found == leaves_.end()) return Read(place.type).NotAProfile(field, "is missing");
  const Leaf& leaf = *found->second.leaf;
  const bool packed = !leaf.component && BitWidth(leaf.type) != bits;
  const ElementKind kind = Info(type).kind;
  const ElementKind declared = Info(leaf.type).kind;
  // Codes may be declared in any type of their width; they mean what the profile says.
  const bool as_unsigned = kind != ElementKind::kSigned && kind != ElementKind::kFloat;
  const bool same = leaf.type == type || (declared == ElementKind::kUnsigned ? as_unsigned : declared == kind);
  if (!packed && same) return Field(place, path, compute_);
  if (!packed && (bits > 63 || (declared != ElementKind::kUnsigned && declared != ElementKind::kSigned))) {
    return NoDecoder(fmt::format("{} is declared as {}", Name(type), Name(leaf.type)), "the type itself");
  }
  if (!packed && declared == ElementKind::kSigned) {
    const ElementType integer = bits > kFloatBits ? ElementType::kInt64 : ElementType::kInt32;
    TESSERA_ASSIGN(const Value numbers, Field(place, path, integer));
    const Value turn = builder_.Scalar(integer, int64_t{1} << bits);
    const Value negative = builder_.Less(numbers, builder_.Scalar(integer, 0));
    return Reinterpret(builder_.Where(negative, builder_.Add(numbers, turn), numbers), type, bits);
  }
  // FLOAT would round codes of more bits.
  const bool wide = !packed && bits > kFloatBits;
  TESSERA_ASSIGN(Value codes, Field(place, path, wide ? ElementType::kInt64 : ElementType::kUndefined));
  if (packed) {
    TESSERA_ASSIGN(codes, Unpack(codes, bits, count));
  }
  return Reinterpret(codes, type, bits);
}

// ---- Parameters

Result<Value> DecoderWriter::StoredParameter(const Level& level, const Stored& stored, std::string_view name) {
  FunctionBuilder& b = builder_;
  const bool outer = stored.per == Stored::Per::kTensor && level.in_tile;
  const Level* owner = outer ? level.root : &level;
  Dims dims(level.MemoryDims().size() + 1, 1);
  dims[0] = level.place.batch;
  if (stored.per == Stored::Per::kChannel) {
    const size_t axis = level.ChannelAxis();
    dims[level.MemoryAxis(axis) + 1] = static_cast<int64_t>(level.shape[axis]);
  }
  Value value;
  if (std::holds_alternative<ElementType>(stored.type)) {
    TESSERA_ASSIGN(value, Field(owner->place, name, compute_));
  } else {
    TESSERA_ASSIGN(const Level nested, ParameterLevel(types_, level, stored, name));
    TESSERA_ASSIGN(value, Decode(nested));
  }
  if (outer && owner->place.batch != level.place.batch) {
    // One for each value that the tiles make up.
    const int64_t tensors = owner->place.batch;
    value = b.Expand(b.Reshape(value, {tensors, 1}), {tensors, tensors == 0 ? 0 : level.place.batch / tensors});
  }
  return b.Reshape(value, dims);
}

Result<Value> DecoderWriter::ApplyScale(const Level& level, const Value& values, const Scale& scale) {
  FunctionBuilder& b = builder_;
  if (std::holds_alternative<std::monostate>(scale)) return values;
  Value factor;
  if (const auto* stored = std::get_if<Stored>(&scale)) {
    TESSERA_ASSIGN(factor, StoredParameter(level, *stored, "scale"));
    const Value shaped = b.Reshape(values, level.BatchDims());
    return b.Reshape(b.Mul(shaped, factor), values.dims);
  }
  if (std::holds_alternative<float>(scale)) {
    TESSERA_ASSIGN(factor, Parameter(level.place, "scale"));
  } else {
    TESSERA_ASSIGN(Value exponent, Field(level.place, "scale"));
    factor = b.PowerOfTwo(exponent, compute_);
  }
  return b.Mul(values, factor);
}

Result<Value> DecoderWriter::ApplyZeroPoint(const Level& level, const Value& values, const LinearProfile& linear) {
  FunctionBuilder& b = builder_;
  if (const auto* stored = std::get_if<Stored>(&linear.zero_point)) {
    TESSERA_ASSIGN(Value zero, StoredParameter(level, *stored, "zero_point"));
    const Value shaped = b.Reshape(values, level.BatchDims());
    return b.Reshape(b.Sub(shaped, zero), values.dims);
  }
  if (std::get<int64_t>(linear.zero_point) == 0) return values;
  TESSERA_ASSIGN(Value zero, Parameter(level.place, "zero_point"));
  return b.Sub(values, zero);
}

// ---- A level

Result<Value> DecoderWriter::Rotate(const Level& level, const Value& values, const Rotation& rotation, bool pre) {
  FunctionBuilder& b = builder_;
  const RotatedAxis axis(level, pre);
  Value x = axis.Enter(&b, values);
  const std::string_view name = pre ? "pre_rotation" : "post_rotation";
  if (rotation.matrix_type == RotationType::kPlain) {
    TESSERA_ASSIGN(Value matrix, Parameter(level.place, name));
    if (rotation.dims.size() == 1)
      x = b.Mul(x, b.Reshape(matrix, axis.Diagonal()));
    else
      x = pre ? b.MatMul(x, matrix) : b.MatMul(matrix, x);
  } else {
    x = axis.Hadamard(&b, x, rotation.dims.back());
  }
  return axis.Leave(&b, x);
}

Result<Value> DecoderWriter::Decode(const Level& level) {
  TESSERA_ASSIGN(Value values, kFamilies[level.profile->kind.index() - 1](this, level));
  if (level.profile->pre_rotation) {
    TESSERA_ASSIGN(values, Rotate(level, values, *level.profile->pre_rotation, /*pre=*/true));
  }
  if (level.profile->post_rotation) {
    TESSERA_ASSIGN(values, Rotate(level, values, *level.profile->post_rotation, /*pre=*/false));
  }
  // What is decoded inside another value has its own type, which may be narrower.
  const std::optional<ElementType>& own = level.profile->data_type;
  if (level.is_root || !own || *own == compute_ || *own == ElementType::kDouble) return values;
  if (!builder_.CanCast(*own))
    return NoDecoder(fmt::format("opset {} has no {}", builder_.opset(), Name(*own)), "a later one");
  return builder_.Cast(builder_.Cast(values, *own), compute_);
}

}  // namespace tessera::decoders
