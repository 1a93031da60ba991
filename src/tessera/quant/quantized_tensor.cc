#include "tessera/quant/quantized_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

std::string Where(const std::optional<std::string>& name, std::string_view kind) {
  return name ? fmt::format("{} {}", kind, Quoted(*name)) : std::string(kind);
}

// The bytes of one value of the last of `types`, which are a list of its own.
Result<uint64_t> SizeOf(const std::vector<StructType>& types, const std::string& where, const Limits& limits) {
  if (types.empty()) return Fail(ErrorCode::kValueType, where, "has no type", "the declarations of one, its root last");
  Problems problems;
  const TypeTable table = TypeTable::Build(types, limits, &problems);
  const std::shared_ptr<const CheckedType> root = table.Get(static_cast<int64_t>(types.size()) - 1);
  if (root == nullptr) return tl::unexpected<Error>(problems.list().front());
  if (root->size_bits % 8 != 0) {
    return Fail(ErrorCode::kSizeBits, where, fmt::format("its type has {} bits", root->size_bits), "whole bytes");
  }
  return root->size_bits / 8;
}

// A type that stands inline in a value has no name, which every declaration of a list needs: one that no other has.
std::vector<StructType> Named(std::vector<StructType> types) {
  if (types.empty() || !types.back().Name().empty()) return types;
  std::string name = "INLINE";
  auto taken = [&](const StructType& type) { return type.Name() == name; };
  while (std::any_of(types.begin(), types.end(), taken)) name += '_';
  types.back().name = std::move(name);
  return types;
}

Result<void> CheckSize(uint64_t type_bytes, uint64_t payload_bytes, const std::string& where, const Limits& limits) {
  if (payload_bytes > limits.payload_bytes) {
    return Fail(ErrorCode::kLimitPayload, where, fmt::format("has {} bytes", payload_bytes),
                fmt::format("at most {}", limits.payload_bytes));
  }
  if (payload_bytes == type_bytes) return {};
  return Fail(ErrorCode::kPayloadSize, where, fmt::format("raw_data has {} bytes", payload_bytes),
              fmt::format("{}, the size of its type", type_bytes));
}

Result<const Profile*> ProfileOf(const QuantizedTensor& tensor, std::span<const Profile> quantizations,
                                 const std::string& where) {
  if (const auto* profile = std::get_if<Box<Profile>>(&tensor.quantization)) return &**profile;
  const int32_t index = std::get<int32_t>(tensor.quantization);
  if (index >= 0 && static_cast<size_t>(index) < quantizations.size()) return &quantizations[index];
  return Fail(ErrorCode::kTypeIndex, where, fmt::format("its quantized_type is {}", index),
              quantizations.empty() ? "there are no quantizations" : fmt::format("0 to {}", quantizations.size() - 1));
}

bool HasSparse(const Profile& profile) {
  bool found = false;
  ProfileWalk walk(
      [&](const Profile& part, const Path&) { found = found || std::holds_alternative<SparseProfile>(part.kind); });
  walk(profile, Path());
  return found;
}

// The number of outliers with which a value has that many bytes; nullopt where there is none, and the translation says
// what is wrong.
std::optional<uint64_t> OutliersBySize(const Profile& profile, std::span<const int64_t> shape, uint64_t bytes,
                                       TranslateOptions options) {
  auto size = [&](uint64_t outliers) -> std::optional<uint64_t> {
    options.outliers = outliers;
    Result<std::vector<StructType>> types = TranslateProfile(profile, shape, options);
    if (!types) return std::nullopt;
    Result<uint64_t> size_bytes = SizeOf(*types, "", options.limits);
    return size_bytes ? std::optional(*size_bytes) : std::nullopt;
  };
  const std::optional<uint64_t> none = size(0);
  if (!none || bytes < *none) return std::nullopt;
  // Eight more always take the same number of bytes; fewer may share one, which rounds down.
  constexpr uint64_t kStep = 8;
  if (const std::optional<uint64_t> some = size(kStep); some && *some > *none) {
    const std::optional<uint64_t> scaled = CheckedMul(bytes - *none, kStep);
    if (!scaled) return std::nullopt;
    const uint64_t guess = *scaled / (*some - *none);
    return size(guess) == bytes ? std::optional(guess) : std::nullopt;
  }
  for (uint64_t few = 0; few < kStep; ++few) {
    if (size(few) == bytes) return few;
  }
  return std::nullopt;
}

}  // namespace

Result<StructValue> ToStructValue(const QuantizedTensor& tensor, std::span<const Profile> quantizations,
                                  const TranslateOptions& options) {
  const std::string where = Where(tensor.name, "quantized tensor");
  TESSERA_ASSIGN(const Profile* profile, ProfileOf(tensor, quantizations, where));
  if (tensor.n_bytes < 0 || static_cast<uint64_t>(tensor.n_bytes) != tensor.raw_data.size()) {
    return Fail(ErrorCode::kPayloadSize, where, fmt::format("its n_bytes is {}", tensor.n_bytes),
                fmt::format("{}, the size of its raw_data", tensor.raw_data.size()));
  }
  TranslateOptions counted = options;
  if (!options.outliers && HasSparse(*profile))
    counted.outliers = OutliersBySize(*profile, tensor.dims, tensor.raw_data.size(), options);
  StructValue value;
  TESSERA_ASSIGN(value.types, TranslateProfile(*profile, tensor.dims, counted));
  TESSERA_ASSIGN(const uint64_t bytes, SizeOf(value.types, where, options.limits));
  TESSERA_TRY(CheckSize(bytes, tensor.raw_data.size(), where, options.limits));
  value.raw_data = tensor.raw_data;
  value.name = tensor.name;
  value.doc_string = tensor.doc_string;
  return value;
}

Result<QuantizedTensor> ToQuantizedTensor(const StructValue& value, const Limits& limits,
                                          std::optional<std::vector<int64_t>> shape) {
  const std::string where = Where(value.name, "struct value");
  const std::vector<StructType> types = Named(value.types);
  TESSERA_ASSIGN(const uint64_t bytes, SizeOf(types, where, limits));
  TESSERA_TRY(CheckSize(bytes, value.raw_data.size(), where, limits));
  TESSERA_ASSIGN(RecoveredProfile recovered, RecoverProfile(types, std::move(shape), limits));
  QuantizedTensor tensor;
  tensor.dims = std::move(recovered.shape);
  tensor.raw_data = value.raw_data;
  tensor.n_bytes = static_cast<int64_t>(tensor.raw_data.size());
  tensor.quantization = Box<Profile>(std::move(recovered.profile));
  tensor.name = value.name;
  tensor.doc_string = value.doc_string;
  return tensor;
}

}  // namespace tessera
