// What differs between the founding document and our translation, as data: the comparisons make differences, the table
// of reasons (document_rows.h) explains them, the pages print both. Only tests link it.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace tessera {

enum class DifferenceKind : uint8_t {
  kProfile,              // a field of the profile has another value
  kDeclarationMissing,   // only the document has the declaration
  kDeclarationOnlyOurs,  // only we have it
  kFieldMissing,         // only the document has the serialized field
  kFieldOnlyOurs,
  kFieldOrder,        // the serialized fields that both have stand in another order
  kFieldPlace,        // the field begins at another bit
  kNesting,           // an array of codes against one of structures, or another structure
  kElementType,       // other elements, or components of a bit packing
  kCount,             // another number of elements
  kDims,              // other dimensions with the same number of elements
  kConstantMissing,   // only the document has the constant
  kConstantOnlyOurs,  // only we have it
  kConstantType,
  kConstantDims,
  kConstantValue,
  kMetadata,
};
std::string_view Name(DifferenceKind kind);

struct Difference {
  DifferenceKind kind = DifferenceKind::kProfile;
  std::string declaration;  // where it is, or the declaration itself; empty for a profile
  std::string field;        // of the declaration or of the profile (`tiling.elem_quant[0].linear.scale`); may be empty
  std::string document;     // what the document says, in Markdown
  std::string ours;         // what we do
  bool operator==(const Difference&) const = default;
};

// For the messages of tests.
inline void PrintTo(const Difference& d, std::ostream* out) {
  *out << Name(d.kind) << " at '" << d.declaration << "' '" << d.field << "': " << d.document << " => " << d.ours;
}

}  // namespace tessera
