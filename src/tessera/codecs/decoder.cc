#include "tessera/codecs/decoder.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tessera/codecs/decoders/decoder_writer.h"
#include "tessera/codecs/payload_reader.h"
#include "tessera/types/function_check.h"
#include "tessera/types/operators.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace tessera {

namespace {

Result<void> CheckOpset(int64_t opset, const std::string& where) {
  if (opset >= kMinOpset && opset <= kMaxOpset) return {};
  return Fail(ErrorCode::kArgument, where, fmt::format("opset {} has no decoders", opset),
              fmt::format("{} to {}", kMinOpset, kMaxOpset));
}

Result<std::shared_ptr<const CheckedType>> CheckedRoot(std::span<const StructType> types, const Limits& limits) {
  Problems problems;
  const TypeTable table = TypeTable::Build({types.begin(), types.end()}, limits, &problems);
  std::shared_ptr<const CheckedType> type = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());
  return type;
}

// The tensor from the leaves of `type`.
Result<Value> DecodeLeaves(FunctionBuilder* builder, const Profile& profile, std::span<const int64_t> shape,
                           std::span<const StructType> types, const CheckedType& type, std::span<const Value> leaves) {
  const Profile resolved = Resolved(profile);
  TESSERA_ASSIGN(const decoders::Level level,
                 decoders::RootLevel(resolved, shape, static_cast<int32_t>(types.size()) - 1));
  const ElementType data_type = profile.data_type.value_or(ElementType::kFloat);
  decoders::DecoderWriter writer(builder, types, type, leaves, data_type == ElementType::kDouble);
  TESSERA_ASSIGN(Value decoded, writer.Decode(level));
  if (!builder->CanCast(data_type)) {
    return writer.NoDecoder(fmt::format("opset {} has no {}", builder->opset(), Name(data_type)), "a later opset");
  }
  return builder->Cast(builder->Reshape(decoded, {shape.begin(), shape.end()}), data_type);
}

Function Named(Function function) {
  function.name = "decode";
  function.domain = "tessera";
  return function;
}

// All leaves of a value from the segments of its payload, which are the function's inputs.
Result<std::vector<Value>> ReadLeaves(FunctionBuilder* builder, const CheckedType& type,
                                      std::span<const uint64_t> segment_bytes) {
  TESSERA_TRY(CheckPayload(type, segment_bytes, type.declaration.Name()));
  std::vector<Value> segments;
  for (size_t i = 0; i < segment_bytes.size(); ++i) {
    segments.push_back(builder->Input(i == 0 ? "payload" : fmt::format("payload_{}", i), ElementType::kUint8,
                                      {static_cast<int64_t>(segment_bytes[i])}));
  }
  std::vector<Value> leaves;
  for (const Leaf& leaf : type.leaves) {
    size_t at = 0;
    uint64_t start = 0;
    while (leaf.constant == nullptr && at + 1 < segments.size() && leaf.bit_offset / 8 >= start + segment_bytes[at]) {
      start += segment_bytes[at++];
    }
    TESSERA_ASSIGN(Value value, ReadLeaf(builder, segments.empty() ? Value() : segments[at], start, leaf));
    leaves.push_back(std::move(value));
  }
  return leaves;
}

}  // namespace

Result<Function> BuildDecoder(const Profile& profile, std::span<const int64_t> shape, std::span<const StructType> types,
                              int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const std::shared_ptr<const CheckedType> type, CheckedRoot(types, limits));
  TESSERA_TRY(CheckOpset(opset, types.back().Name()));
  FunctionBuilder builder(opset);
  std::vector<Value> leaves;
  for (const Leaf& leaf : type->leaves) {
    Dims dims(leaf.dims.begin(), leaf.dims.end());
    if (leaf.constant != nullptr) dims = leaf.constant->dims;
    leaves.push_back(builder.Input(leaf.input_name, leaf.type, std::move(dims)));
  }
  TESSERA_ASSIGN(const Value result, DecodeLeaves(&builder, profile, shape, types, *type, leaves));
  return Named(builder.Finish(result, "Y"));
}

Result<Function> BuildPayloadDecoder(const Profile& profile, std::span<const int64_t> shape,
                                     std::span<const StructType> types, std::span<const uint64_t> segment_bytes,
                                     int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const std::shared_ptr<const CheckedType> type, CheckedRoot(types, limits));
  TESSERA_TRY(CheckOpset(opset, types.back().Name()));
  FunctionBuilder builder(opset);
  TESSERA_ASSIGN(const std::vector<Value> leaves, ReadLeaves(&builder, *type, segment_bytes));
  TESSERA_ASSIGN(const Value result, DecodeLeaves(&builder, profile, shape, types, *type, leaves));
  return Named(builder.Finish(result, "Y"));
}

Result<Function> BuildPayloadDecoder(const CheckedType& type, std::span<const uint64_t> segment_bytes, int64_t opset) {
  const std::string& name = type.declaration.Name();
  TESSERA_TRY(CheckOpset(opset, name));
  if (!type.declaration.decoder) {
    return Fail(ErrorCode::kNoDecoder, name, "has no decoder", "a type with one, or one that is a profile's");
  }
  Function decoder = *type.declaration.decoder;
  decoder.opset_imports = {{std::string(), opset}};
  Problems problems;
  CheckDecoder(decoder, type.leaves, Path("decoder"), &problems);
  if (!problems.empty()) {
    return Fail(ErrorCode::kNoDecoder, name,
                fmt::format("its decoder is none at opset {}: {}", opset, problems.list().front().Format()),
                fmt::format("opset {}", type.declaration.decoder->opset_imports[0].version));
  }
  FunctionBuilder builder(opset);
  TESSERA_ASSIGN(std::vector<Value> leaves, ReadLeaves(&builder, type, segment_bytes));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!builder.CanCast(type.leaves[i].type)) {
      return Fail(ErrorCode::kNoDecoder, name, fmt::format("opset {} has no {}", opset, Name(type.leaves[i].type)),
                  "a later opset");
    }
    leaves[i] = builder.Cast(leaves[i], type.leaves[i].type);
  }
  const OutputSignature output = *DeclaredOutput(decoder);
  return Named(builder.Finish(builder.Call(decoder, leaves, output.type, output.dims), "Y"));
}

Result<Function> PortableDecoder(std::span<const StructType> types, std::span<const uint64_t> segment_bytes,
                                 int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const std::shared_ptr<const CheckedType> type, CheckedRoot(types, limits));
  const std::optional<Function>& own = types.back().decoder;
  Result<RecoveredProfile> recovered = RecoverProfile(types, std::nullopt, limits);
  if (!recovered && !own) return tl::unexpected<Error>(std::move(recovered).error());
  bool by_profile = recovered.has_value();
  if (recovered && own) {
    const int64_t version = own->opset_imports.size() == 1 ? own->opset_imports[0].version : 0;
    const Result<Function> made = BuildDecoder(recovered->profile, recovered->shape, types, version, limits);
    by_profile = made && *made == *own;
  }
  if (!by_profile) return BuildPayloadDecoder(*type, segment_bytes, opset);
  return BuildPayloadDecoder(recovered->profile, recovered->shape, types, segment_bytes, opset, limits);
}

Result<void> AttachDecoder(std::vector<StructType>* types, int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const RecoveredProfile recovered, RecoverProfile(*types, std::nullopt, limits));
  TESSERA_ASSIGN(types->back().decoder, BuildDecoder(recovered.profile, recovered.shape, *types, opset, limits));
  return {};
}

}  // namespace tessera
