#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>

#include "tessera/codecs/declared_value.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/format_codecs/format_codecs.h"
#include "tessera/types/element_value.h"
#include "tessera/types/function_check.h"
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

// The type of the tensor that an encoder takes, which is that of the decoder's output.
ElementType InputType(const FormatTypes& types) {
  if (types.profile) return types.profile->data_type.value_or(ElementType::kFloat);
  const std::optional<Function>& decoder = types.root->declaration.decoder;
  const std::optional<OutputSignature> output = decoder ? DeclaredOutput(*decoder) : std::nullopt;
  return output ? output->type : ElementType::kFloat;
}

Result<Tensor> FromFloats(std::span<const float> values, ElementType type, std::vector<int64_t> dims,
                          const std::string& where) {
  const uint32_t width = UnpackedBytes(type);
  if (Info(type).kind != ElementKind::kFloat) {
    return Fail(ErrorCode::kUnsupported, where, fmt::format("the encoder takes {}", Name(type)), "a type of floats");
  }
  Tensor tensor{.type = type, .dims = std::move(dims), .bytes = std::vector<uint8_t>(values.size() * width)};
  for (size_t i = 0; i < values.size(); ++i) {
    // A FLOAT keeps its bits, those of a NaN too.
    const uint64_t code = type == ElementType::kFloat ? std::bit_cast<uint32_t>(values[i])
                                                      : EncodeFloat(type, double{values[i]}, Overflow::kSaturate);
    std::memcpy(tensor.bytes.data() + i * width, &code, width);
  }
  return tensor;
}

Result<std::vector<float>> Decode(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                  const Limits& limits) {
  TESSERA_ASSIGN(const StructView view, StructView::Create(types.root, {payload}, format.name));
  TESSERA_ASSIGN(const Tensor tensor, DecodeDeclared(types.types, view, limits));
  return ToFloats(tensor, format.name);
}

Result<EncodedFormat> Encode(const Format& format, const FormatTypes& types, std::span<const float> values,
                             std::span<const float> weights, const Limits& limits) {
  Result<Function> encoder = FormatEncoder(types, std::nullopt, limits);
  // What it gives does not depend on the opset.
  if (!encoder && types.profile) encoder = FormatEncoder(types, kMaxOpset, limits);
  if (!encoder) {
    Error error = std::move(encoder).error();
    error.where = format.name;
    return tl::unexpected<Error>(std::move(error));
  }
  std::vector<Tensor> inputs;
  TESSERA_ASSIGN(Tensor input, FromFloats(values, InputType(types), types.shape, format.name));
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
