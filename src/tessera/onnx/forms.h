// The forms of a model with struct values, and the way between them, which loses nothing.
//
//   structured  the values are struct_initializers, and a node tessera::DecodeStruct stands before each one's consumers
//   portable    the values are UINT8 initializers, one for each segment of the payload, and nodes of model-local
//   functions
//               made of standard operators turn them into tensors; every ONNX runtime runs it
//
// In the portable form ModelProto.struct_types stay, and metadata says what belongs to which: that of a tensor or a
// function has its struct type, by name (kStructTypeKey) or, where it stood inline, as a message in hexadecimal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/onnx/model.h"
#include "tessera/types/limits.h"

namespace tessera {

enum class ModelForm : uint8_t { kStructured, kPortable };
std::string_view Name(ModelForm form);  // "structured", "portable"
std::span<const std::string_view> AllModelForms();
std::optional<ModelForm> ModelFormFromName(std::string_view name);

inline constexpr std::string_view kStructTypeKey = "tessera.struct_type";
inline constexpr std::string_view kInlineTypeKey = "tessera.struct_type_inline";
// Of the tensors with the second and later segments of a value: its name.
inline constexpr std::string_view kSegmentOfKey = "tessera.segment_of";
// Of a value that has an entry in value_info of its struct type: the entry, a message in hexadecimal.
inline constexpr std::string_view kValueInfoKey = "tessera.value_info";
// Of the model, where it has been raised: the IR version of the structured form.
inline constexpr std::string_view kIrVersionKey = "tessera.ir_version";

// Brings the whole model into a form; one that has it is left as it is. External data stays where it is, inline data is
// not copied. The IR version is raised to 10 where it has to be; the opset stays. On an error the model is as it was.
// Errors: kUnsupported for an opset outside 13 .. 26, and for what only the structured form can say: graph inputs,
// outputs, attributes and operators of struct values; kNoDecoder; those of the checker for types and values.
Result<void> ConvertForm(Model* model, ModelForm form, const Limits& limits = {});

}  // namespace tessera
