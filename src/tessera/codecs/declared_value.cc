#include "tessera/codecs/declared_value.h"

#include <utility>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

Result<Tensor> FromLeaves(const Function& decoder, const StructView& value) {
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < value.leaf_count(); ++i) {
    TESSERA_ASSIGN(Tensor leaf, TensorOf(value.leaf(i)));
    leaves.push_back(std::move(leaf));
  }
  return EvaluateFunction(decoder, std::move(leaves), {});
}

Result<Tensor> FromBytes(std::span<const StructType> types, const StructView& value, const Limits& limits) {
  std::vector<uint64_t> sizes;
  std::vector<Tensor> segments;
  for (std::span<const uint8_t> bytes : value.payload()) {
    sizes.push_back(bytes.size());
    segments.push_back({.type = ElementType::kUint8,
                        .dims = {static_cast<int64_t>(bytes.size())},
                        .bytes = {bytes.begin(), bytes.end()}});
  }
  TESSERA_ASSIGN(const Function decoder, PortableDecoder(types, sizes, kMaxOpset, limits));
  return EvaluateFunction(decoder, std::move(segments), {});
}

}  // namespace

Result<Tensor> DecodeDeclared(std::span<const StructType> types, const StructView& value, const Limits& limits) {
  if (value.type().declaration.decoder) return DecodeWithDeclaration(value, {});
  std::vector<StructType> declared(types.begin(), types.end());
  const Result<void> attached = AttachDecoder(&declared, kMaxOpset, limits);
  if (attached) return FromLeaves(*declared.back().decoder, value);
  if (attached.error().code != ErrorCode::kNoDecoder) return tl::unexpected<Error>(attached.error());
  return FromBytes(types, value, limits);
}

}  // namespace tessera
