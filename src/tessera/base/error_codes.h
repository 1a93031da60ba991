// The one list of error codes. A code is stable: scripts match on its slug, so a slug is never renamed or reused.
// docs/errors.md is made from this list by tools/error_docs.py.
#pragma once

// X(enumerator, slug, kind, summary)
//   kind kInput: the input cannot be parsed, is refused, or an argument is wrong (exit code 2)
//        kOutput: the output was not written (exit code 3)
//        kFinding: the file was read, but something in it is not in order (exit code 1 of `check`)
#define TESSERA_ERROR_CODES(X)                                                                                         \
  /* Arguments and files */                                                                                            \
  X(kArgument, "argument", kInput, "An argument is missing, unknown or out of range")                                  \
  X(kFileOpen, "file-open", kInput, "A file does not exist or cannot be opened")                                       \
  X(kFileKind, "file-kind", kInput, "A path is not a regular file")                                                    \
  X(kFileRead, "file-read", kInput, "A file cannot be mapped or read")                                                 \
  X(kFileWrite, "file-write", kOutput, "A file cannot be written, synced or renamed; what stood there is untouched")   \
  /* Wire format */                                                                                                    \
  X(kWireTruncated, "wire-truncated", kInput, "The file ends inside a field")                                          \
  X(kWireMalformed, "wire-malformed", kInput, "The bytes are not a protobuf message")                                  \
  X(kWireDepth, "wire-depth", kInput, "Messages are nested deeper than the limit")                                     \
  X(kWireSize, "wire-size", kInput, "A message is larger than protobuf can hold")                                      \
  X(kForeignData, "foreign-data", kInput, "A message refers to data of another model in memory")                       \
  X(kNotAModel, "not-a-model", kInput, "The message has neither graph, functions, struct types nor compiled tensors")  \
  X(kOneofConflict, "oneof-conflict", kFinding, "A message sets two members of a oneof; readers keep the last")        \
  /* External data */                                                                                                  \
  X(kExternalLocation, "external-location", kFinding, "A location is absent, empty, absolute or not a plain path")     \
  X(kExternalEscape, "external-escape", kFinding, "A location leads outside the model's folder")                       \
  X(kExternalMissing, "external-missing", kFinding, "The data file does not exist or is not a regular file")           \
  X(kExternalRange, "external-range", kFinding, "Offset and length do not lie inside the data file")                   \
  X(kExternalLength, "external-length", kFinding, "External data of a struct value has no length")                     \
  X(kExternalNumber, "external-number", kFinding, "Offset or length is not a decimal number")                          \
  X(kExternalInline, "external-inline", kFinding, "A value has both inline and external data")                         \
  X(kExternalOrphan, "external-orphan", kFinding, "Bytes of a data file belong to no tensor")                          \
  /* Tensors */                                                                                                        \
  X(kTensorType, "tensor-type", kFinding, "A tensor's data_type is unknown or absent")                                 \
  X(kTensorDims, "tensor-dims", kFinding, "A tensor has a negative dimension or too many elements")                    \
  X(kTensorSize, "tensor-size", kFinding, "A tensor's data does not have the size that type and dimensions need")      \
  X(kTensorField, "tensor-field", kFinding, "A tensor's data stands in a field that its type does not use, or in two") \
  X(kTensorName, "tensor-name", kFinding, "Two initializers of a graph have one name, or one has none")                \
  /* Struct types */                                                                                                   \
  X(kRootKind, "root-kind", kFinding, "A declaration selects none of array, structure and bit_packing")                \
  X(kRootReference, "root-reference", kFinding, "A declaration is a type_index; only parts may be references")         \
  X(kTypeIndex, "type-index", kFinding, "A type index lies outside ModelProto.struct_types")                           \
  X(kReferenceCycle, "reference-cycle", kFinding, "A declaration contains itself")                                     \
  X(kTypeName, "type-name", kFinding, "A declaration's name is empty or taken")                                        \
  X(kFieldName, "field-name", kFinding, "A field or component name is empty, taken or too long")                       \
  X(kFieldContent, "field-content", kFinding, "A field has neither or both of type and constant")                      \
  X(kComponentWidth, "component-width", kFinding, "A component's bit width is 0 or over 64")                           \
  X(kArrayDimensions, "array-dimensions", kFinding, "An array has no dimension")                                       \
  X(kLeafType, "leaf-type", kFinding, "A leaf is not a fixed-width ONNX scalar")                                       \
  X(kPartKind, "part-kind", kFinding, "A sequence, map, optional or other non-physical type inside a physical type")   \
  X(kPartSurplus, "part-surplus", kFinding, "A part or reference carries a name, decoder or other content")            \
  X(kConstantExternal, "constant-external", kFinding, "A constant has external data")                                  \
  X(kConstantData, "constant-data", kFinding, "A constant has missing or surplus data")                                \
  X(kConstantDims, "constant-dims", kFinding, "A constant has a negative dimension or too many elements")              \
  X(kSizeOverflow, "size-overflow", kFinding, "A size in bits does not fit into 64 bits")                              \
  X(kSizeBits, "size-bits", kFinding, "A declaration's size is not a whole number of bytes")                           \
  X(kLeafNames, "leaf-names", kFinding, "Two leaves have the same decoder input name")                                 \
  X(kLimitDepth, "limit-depth", kFinding, "Types are nested deeper than the limit")                                    \
  X(kLimitFields, "limit-fields", kFinding, "A declaration has more fields than the limit")                            \
  X(kLimitLeaves, "limit-leaves", kFinding, "A declaration has more leaves than the limit")                            \
  X(kLimitConstant, "limit-constant", kFinding, "A declaration's constants hold more bytes than the limit")            \
  X(kLimitPayload, "limit-payload", kFinding, "A value's payload is larger than the limit")                            \
  X(kLimitProfile, "limit-profile", kInput, "A profile takes more memory than the limit")                              \
  /* Decoders and encoders */                                                                                          \
  X(kDecoderInputs, "decoder-inputs", kFinding, "A decoder's inputs are not the leaves in their order")                \
  X(kDecoderOutput, "decoder-output", kFinding, "A decoder or encoder does not have exactly one output")               \
  X(kDecoderOutputType, "decoder-output-type", kFinding, "An output's value_info, element type or shape is missing")   \
  X(kDecoderOperator, "decoder-operator", kFinding, "An operator outside the table of allowed operators")              \
  X(kDecoderOpset, "decoder-opset", kFinding, "A decoder imports another domain or an opset outside the range")        \
  X(kDecoderAttribute, "decoder-attribute", kFinding, "An attribute that is a graph, a reference or unknown")          \
  X(kDecoderCapture, "decoder-capture", kFinding, "A node reads a value that nothing before it produces")              \
  X(kDecoderTwice, "decoder-twice", kFinding, "Two nodes produce one name, or a name is both input and result")        \
  X(kDecoderSurplus, "decoder-surplus", kFinding, "A decoder has attributes or other parts that it may not have")      \
  X(kEncoderInput, "encoder-input", kFinding, "An encoder's input is not the decoder's output")                        \
  X(kEncoderOutput, "encoder-output", kFinding, "An encoder's output is not UINT8 of the type's size")                 \
  /* Struct values */                                                                                                  \
  X(kValueType, "value-type", kFinding, "A struct value has neither or both of type and struct_type")                  \
  X(kPayloadSize, "payload-size", kFinding, "A payload's size differs from the size of its type")                      \
  X(kLeafSegment, "leaf-segment", kFinding, "A leaf crosses from one segment of external data into the next")          \
  X(kValueName, "value-name", kFinding, "A struct value's name is missing or taken")                                   \
  X(kTypeInvalid, "type-invalid", kFinding, "A value's type is a declaration that was found wrong")                    \
  X(kValueStaticType, "value-static-type", kFinding, "A value does not satisfy its static type")                       \
  X(kContainerType, "container-type", kFinding, "A container of struct values lacks value_type, or it disagrees")      \
  X(kContainerElement, "container-element", kFinding, "A container's elements do not fit its category")                \
  X(kAttributeType, "attribute-type", kFinding, "An attribute's type does not agree with the field that is set")       \
  X(kDecodeNode, "decode-node", kFinding, "A DecodeStruct node does not fit the value it reads")                       \
  /* Text notation */                                                                                                  \
  X(kSyntax, "syntax", kInput, "The text is not in the notation")                                                      \
  X(kUnbound, "unbound-parameter", kInput, "Template parameters have no value")                                        \
  X(kExpression, "expression", kInput, "An integer expression overflows, divides by zero or leaves a remainder")       \
  X(kLiteral, "literal", kInput, "A literal does not fit its element type")                                            \
  X(kParameterData, "parameter-data", kInput, "Data given for a parameter has the wrong type or count")                \
  /* Quantization profiles */                                                                                          \
  X(kProfileKind, "profile-kind", kInput, "A profile has no family")                                                   \
  X(kProfileValue, "profile-value", kInput, "A field of a profile is missing or out of range")                         \
  X(kProfileConflict, "profile-conflict", kInput, "Two fields of a profile contradict each other")                     \
  X(kProfileData, "profile-data", kInput, "A codebook or matrix does not have the values that its sizes need")         \
  X(kProfileBlock, "profile-block", kInput, "Fields of a block overlap, leave the block or do not fit its formula")    \
  X(kProfileStored, "profile-stored", kInput, "A stored parameter stands where there can be none")                     \
  X(kProfileMetadata, "profile-metadata", kInput, "A metadata key is one that the translation needs for itself")       \
  X(kProfileShape, "profile-shape", kInput, "A profile cannot be used for this logical shape")                         \
  X(kNotAProfile, "not-a-profile", kInput, "A struct type is not the translation of a profile")                        \
  /* Formats */                                                                                                        \
  X(kFormatName, "format-name", kInput, "No format has that name, or two have it")                                     \
  X(kFormatValue, "format-value", kInput, "A format's text lacks something, or holds what a format cannot have")       \
  X(kFormatShape, "format-shape", kInput, "A format's blocks do not divide the last axis of a shape")                  \
  /* Encoding */                                                                                                       \
  X(kEncodeValue, "encode-value", kInput,                                                                              \
    "A value or weight cannot be encoded: NaN or infinite, or a negative weight")                                      \
  /* Reading */                                                                                                        \
  X(kNoSuchValue, "no-such-value", kInput, "A model has no initializer of that name")                                  \
  X(kNoSuchLeaf, "no-such-leaf", kInput, "A value has no leaf of that name")                                           \
  X(kReadRange, "read-range", kInput, "A read lies outside the leaf")                                                  \
  X(kNoDecoder, "no-decoder", kInput, "The type has no decoder of standard operators at that opset")                   \
  X(kCodeOutside, "code-outside", kInput, "A payload has a code that its codebook or tensor has not")                  \
  X(kNoEncoder, "no-encoder", kInput, "A type declares no encoder, and its values have no one right encoding")         \
  X(kUnsupported, "unsupported", kInput, "The request cannot be carried out for this value")                           \
  /* Evaluation */                                                                                                     \
  X(kEvaluate, "evaluate", kInput, "An operator of a decoder or encoder cannot be carried out on its inputs")          \
  X(kEvaluateLimit, "evaluate-limit", kInput, "A decoder or encoder needs more memory or time than the limit")
