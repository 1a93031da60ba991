#include "tessera/jobs/logical_shape.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/quant/translate.h"
#include "tessera/types/function_check.h"

namespace tessera {

std::optional<std::vector<int64_t>> LogicalShape(const StructType& type) {
  if (type.decoder) {
    if (std::optional<OutputSignature> output = DeclaredOutput(*type.decoder)) return output->dims;
  }
  auto entry = std::find_if(type.metadata.begin(), type.metadata.end(),
                            [](const Metadata& metadata) { return metadata.key == kShapeKey; });
  if (entry == type.metadata.end()) return std::nullopt;
  Result<std::vector<int64_t>> shape = ParseShapeText(entry->value);
  if (!shape) return std::nullopt;
  return *std::move(shape);
}

std::optional<double> BitsPerWeight(const CheckedType& type) {
  std::optional<std::vector<int64_t>> shape = LogicalShape(type.declaration);
  if (!shape) return std::nullopt;
  return BitsPerWeight(type, *shape);
}

std::optional<double> BitsPerWeight(const CheckedType& type, const std::vector<int64_t>& shape) {
  std::optional<uint64_t> elements = CheckedProduct(shape);
  if (!elements || *elements == 0) return std::nullopt;
  return static_cast<double>(type.size_bits) / static_cast<double>(*elements);
}

}  // namespace tessera
