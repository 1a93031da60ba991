// The founding document's QuantizedTensorProto as a value, and its translation: "QuantizedTensorProto becomes
// StructProto". Neither is a message of its own on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// Owns its payload.
struct QuantizedTensor {
  std::vector<int64_t> dims;      // logical shape
  std::vector<uint8_t> raw_data;  // payload
  int64_t n_bytes = 0;            // size of raw_data
  // quantized_type: index into ModelProto.quantizations; or quantization: inline.
  std::variant<int32_t, Box<Profile>> quantization = int32_t{0};
  std::optional<std::string> name;
  std::optional<std::string> doc_string;
  bool operator==(const QuantizedTensor&) const = default;
};

// A StructProto with its type in place of an index: the declarations (root last) and the bytes.
struct StructValue {
  std::vector<StructType> types;
  std::vector<uint8_t> raw_data;
  std::optional<std::string> name;
  std::optional<std::string> doc_string;
  bool operator==(const StructValue&) const = default;
};

// `quantizations` is ModelProto.quantizations. Where `options` give no number of outliers, raw_data's size does.
// Errors: kTypeIndex for an index outside it; kPayloadSize where n_bytes, raw_data and the type's size are not one
// number; those of TranslateProfile.
Result<StructValue> ToStructValue(const QuantizedTensor& tensor, std::span<const Profile> quantizations,
                                  const TranslateOptions& options = {});
// The inverse, with the profile inline; a root without a name, as types inline in a value are, is one too. Names that
// the declarations have are not kept. `shape` as for RecoverProfile. Errors: those of RecoverProfile, kPayloadSize.
Result<QuantizedTensor> ToQuantizedTensor(const StructValue& value, const Limits& limits = {},
                                          std::optional<std::vector<int64_t>> shape = std::nullopt);

}  // namespace tessera
