#include "tessera/codecs/encoder.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tessera/codecs/encoders/encoder_writer.h"
#include "tessera/types/operators.h"
#include "tessera/types/type_table.h"

namespace tessera {

Result<Function> BuildEncoder(const Profile& profile, std::span<const int64_t> shape, std::span<const StructType> types,
                              int64_t opset, const Limits& limits) {
  Problems problems;
  const TypeTable table = TypeTable::Build({types.begin(), types.end()}, limits, &problems);
  const std::shared_ptr<const CheckedType> type = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());
  const std::string& name = types.back().Name();
  if (opset < kMinOpset || opset > kMaxOpset) {
    return Fail(ErrorCode::kArgument, name, fmt::format("opset {} has no encoders", opset),
                fmt::format("{} to {}", kMinOpset, kMaxOpset));
  }
  const Profile resolved = Resolved(profile);
  TESSERA_ASSIGN(const decoders::Level level,
                 decoders::RootLevel(resolved, shape, static_cast<int32_t>(types.size()) - 1));
  FunctionBuilder builder(opset);
  const ElementType data_type = profile.data_type.value_or(ElementType::kFloat);
  encoders::EncoderWriter writer(&builder, types, data_type == ElementType::kDouble, limits);
  if (!builder.CanCast(data_type)) {
    const bool later = FunctionBuilder(kMaxOpset).CanCast(data_type);
    return writer.NoEncoder(fmt::format("opset {} has no {}", opset, Name(data_type)),
                            later ? "a later opset" : "another data_type");
  }
  const Dims dims(shape.begin(), shape.end());
  const Value input = builder.Input("X", data_type, dims);
  const Value values = builder.Reshape(builder.Cast(input, writer.compute()), {1, level.values});
  TESSERA_TRY(writer.Encode(level, values));
  TESSERA_ASSIGN(const Value bytes, writer.Bytes(level.place));
  Function function =
      builder.Finish(builder.Cast(builder.Reshape(bytes, {bytes.dims[1]}), ElementType::kUint8), "bytes");
  ValueInfo info;
  info.name = input.name;
  info.type = data_type;
  info.shape.emplace(dims.begin(), dims.end());
  function.value_infos.push_back(std::move(info));
  function.name = "encode";
  function.domain = "tessera";
  return function;
}

Result<void> AttachEncoder(std::vector<StructType>* types, int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const RecoveredProfile recovered, RecoverProfile(*types, std::nullopt, limits));
  TESSERA_ASSIGN(types->back().encoder, BuildEncoder(recovered.profile, recovered.shape, *types, opset, limits));
  return {};
}

}  // namespace tessera
