#include "tessera/codecs/decoder.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/codecs/decoders/decoder_writer.h"
#include "tessera/types/type_table.h"

namespace tessera {

Result<Function> BuildDecoder(const Profile& profile, std::span<const int64_t> shape, std::span<const StructType> types,
                              int64_t opset, const Limits& limits) {
  Problems problems;
  const TypeTable table = TypeTable::Build({types.begin(), types.end()}, limits, &problems);
  const std::shared_ptr<const CheckedType> type = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());

  const ElementType data_type = profile.data_type.value_or(ElementType::kFloat);
  decoders::Level level;
  const Profile resolved = Resolved(profile);
  level.profile = &resolved;
  level.is_root = true;
  level.place.type = static_cast<int32_t>(types.size()) - 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    level.shape.push_back(static_cast<uint64_t>(shape[i]));
    level.order.push_back(i);
  }
  const std::optional<uint64_t> values = CheckedProduct(level.shape);
  if (!values || *values > static_cast<uint64_t>(INT64_MAX)) {
    return Fail(ErrorCode::kProfileShape, ShapeText(shape), "the tensor has more than 2^63 - 1 values",
                "a smaller shape");
  }
  level.values = static_cast<int64_t>(*values);

  FunctionBuilder builder(opset);
  decoders::DecoderWriter writer(&builder, types, *type, data_type == ElementType::kDouble);
  TESSERA_ASSIGN(Value decoded, writer.Decode(level));
  if (!builder.CanCast(data_type)) {
    return writer.NoDecoder(fmt::format("opset {} has no {}", opset, Name(data_type)), "a later opset");
  }
  const Value result = builder.Cast(builder.Reshape(decoded, {shape.begin(), shape.end()}), data_type);
  Function function = builder.Finish(result, "Y");
  function.name = "decode";
  function.domain = "tessera";
  return function;
}

Result<void> AttachDecoder(std::vector<StructType>* types, int64_t opset, const Limits& limits) {
  TESSERA_ASSIGN(const RecoveredProfile recovered, RecoverProfile(*types, std::nullopt, limits));
  TESSERA_ASSIGN(types->back().decoder, BuildDecoder(recovered.profile, recovered.shape, *types, opset, limits));
  return {};
}

}  // namespace tessera
