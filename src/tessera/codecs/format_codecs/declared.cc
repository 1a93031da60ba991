#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>

#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/format_codecs/format_codecs.h"
#include "tessera/types/element_value.h"
#include "tessera/types/operators.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

bool Takes(const Format&, const FormatTypes&) { return true; }
std::string Detail(const Format&, const FormatTypes&) { return {}; }

Result<std::vector<float>> ToFloats(const Tensor& tensor, const std::string& where) {
  const ElementKind kind = Info(tensor.type).kind;
  std::vector<float> values(tensor.Count());
  for (uint64_t i = 0; i < values.size(); ++i) {
    if (tensor.type == ElementType::kFloat) {
      values[i] = std::bit_cast<float>(static_cast<uint32_t>(tensor.Code(i)));
    } else if (kind == ElementKind::kFloat) {
      values[i] = DecodeToFloat(tensor.type, tensor.Code(i));
    } else if (kind == ElementKind::kSigned || kind == ElementKind::kUnsigned) {
      const int64_t integer = DecodeInteger(tensor.type, tensor.Code(i));
      values[i] = tensor.type == ElementType::kUint64 ? static_cast<float>(static_cast<uint64_t>(integer))
                                                      : static_cast<float>(integer);
    } else {
      return Fail(ErrorCode::kUnsupported, where, fmt::format("the decoder gives {}", Name(tensor.type)),
                  "a type of real numbers");
    }
  }
  return values;
}

// The types with the decoder that follows from the profile, where there is no own.
Result<std::shared_ptr<const CheckedType>> WithDecoder(const FormatTypes& types, const Limits& limits) {
  if (types.root->declaration.decoder) return types.root;
  // The first opset that has what it needs; what it means does not depend on that.
  Result<Function> decoder = FormatDecoder(types, std::nullopt, limits);
  if (!decoder) decoder = FormatDecoder(types, kMaxOpset, limits);
  if (!decoder) return tl::unexpected<Error>(std::move(decoder).error());
  std::vector<StructType> declared = types.types;
  declared.back().decoder = *std::move(decoder);
  Problems problems;
  const TypeTable table = TypeTable::Build(std::move(declared), limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return table.Get(static_cast<int64_t>(table.size()) - 1);
}

Result<std::vector<float>> Decode(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                  const Limits& limits) {
  TESSERA_ASSIGN(const std::shared_ptr<const CheckedType> type, WithDecoder(types, limits));
  TESSERA_ASSIGN(const StructView view, StructView::Create(type, {payload}, format.name));
  TESSERA_ASSIGN(const Tensor tensor, DecodeWithDeclaration(view, {}));
  return ToFloats(tensor, format.name);
}

Result<EncodedFormat> Encode(const Format& format, const FormatTypes& types, std::span<const float> values,
                             std::span<const float> weights, const Limits&) {
  const std::optional<Function>& encoder = types.root->declaration.encoder;
  if (!encoder) {
    return Fail(ErrorCode::kUnsupported, format.name,
                "has no encoder: neither a codec knows it nor does its type declare one",
                "encoder: FunctionProto { ... } in the format's text");
  }
  Tensor input;
  input.type = ElementType::kFloat;
  input.dims = types.shape;
  input.bytes.resize(values.size() * sizeof(float));
  std::memcpy(input.bytes.data(), values.data(), input.bytes.size());
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(input));
  TESSERA_ASSIGN(Tensor bytes, EvaluateFunction(*encoder, std::move(inputs), {}));
  if (bytes.bytes.size() != types.SizeBytes()) {
    return Fail(ErrorCode::kPayloadSize, format.name,
                fmt::format("the encoder gives {} bytes for a type of {}", bytes.bytes.size(), types.SizeBytes()),
                "as many as the type has");
  }
  EncodedFormat encoded;
  encoded.payload = std::move(bytes.bytes);
  if (!weights.empty())
    encoded.note = format.name + " is encoded without importance weights; those given have no effect";
  return encoded;
}

}  // namespace

const FormatCodec kDecoderCodec = {"decoder", Takes, Detail, Decode, Encode};

}  // namespace tessera
