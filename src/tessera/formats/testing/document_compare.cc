#include "tessera/formats/testing/document_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "tessera/quant/translate.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 17> kKindNames = {
    "profile",
    "declaration missing",
    "extra declaration",
    "field missing",
    "extra field",
    "field order",
    "field place",
    "nesting",
    "element type",
    "count",
    "dimensions",
    "constant missing",
    "extra constant",
    "constant's type",
    "constant's dimensions",
    "constant's value",
    "metadata",
};

// A serialized type with the dimensions of all arrays around the elements in one list.
struct Flat {
  // A scalar's element type, a bit packing's components, or the name of a declaration.
  std::variant<ElementType, std::vector<BitPackingType::Component>, std::string> elements;
  std::vector<uint64_t> dims;

  uint64_t Count() const {
    uint64_t count = 1;  // the checker has seen to it that the product fits
    for (uint64_t dim : dims) count *= dim;
    return count;
  }
};

Flat Flatten(const PhysicalType& type, const TypeTable& table) {
  Flat flat;
  const PhysicalType* at = &type;
  while (const auto* array = std::get_if<ArrayType>(&at->kind)) {
    flat.dims.insert(flat.dims.end(), array->dims.begin(), array->dims.end());
    at = &*array->element;
  }
  if (const auto* scalar = std::get_if<ScalarType>(&at->kind)) {
    flat.elements = scalar->type;
  } else if (const auto* packing = std::get_if<BitPackingType>(&at->kind)) {
    flat.elements = packing->components;
    flat.dims.insert(flat.dims.end(), packing->dims.begin(), packing->dims.end());
  } else {  // the checker has seen to it that structures stand only at roots
    flat.elements = table.declaration(static_cast<size_t>(std::get<TypeReference>(at->kind).index)).Name();
  }
  return flat;
}

std::string Elements(const Flat& flat) {
  if (const auto* scalar = std::get_if<ElementType>(&flat.elements)) return std::string(Name(*scalar));
  if (const auto* name = std::get_if<std::string>(&flat.elements)) return *name;
  std::string text;
  for (const auto& component : std::get<1>(flat.elements)) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", component.name, component.bits);
  }
  return "bit_packing(" + text + ")";
}

std::string Text(const Flat& flat) {
  return flat.dims.empty() ? Elements(flat) : fmt::format("{}[{}]", Elements(flat), fmt::join(flat.dims, ", "));
}

std::string ValueText(const Constant& constant) {
  std::string text = ElementList(constant, ElementStyle::kNotation, 0);
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, text.find(',', kLongest / 2)) + ", ...";
  return constant.dims.empty() ? text : "[" + text + "]";
}

std::string Text(const Constant& constant) {
  const std::string dims = constant.dims.empty() ? "" : fmt::format("[{}]", fmt::join(constant.dims, ", "));
  return fmt::format("{}{} {}", Name(constant.type), dims, ValueText(constant));
}

// The first bit of a field of a checked declaration; nullopt where it has no leaves.
std::optional<uint64_t> Place(const CheckedType& type, const std::string& field) {
  std::optional<uint64_t> place;
  for (const Leaf& leaf : type.leaves) {
    if (leaf.constant != nullptr || (leaf.path != field && leaf.path.rfind(field + ".", 0) != 0)) continue;
    place = std::min(leaf.bit_offset, place.value_or(leaf.bit_offset));
  }
  return place;
}

class Comparison {
 public:
  Comparison(const TypeTable& ours, const TypeTable& document) : ours_(ours), document_(document) {}

  std::vector<Difference> Run() {
    for (size_t i = 0; i < document_.size(); ++i) {
      const StructType& theirs = document_.declaration(i);
      name_ = theirs.Name();
      const int32_t found = ours_.Find(name_);
      if (found < 0) {
        Add(DifferenceKind::kDeclarationMissing, "", fmt::format("declaration `{}`", name_), "no such declaration");
      } else {
        Compare(ours_.declaration(static_cast<size_t>(found)), theirs, found, static_cast<int64_t>(i));
      }
    }
    for (const StructType& type : ours_.declarations()) {
      name_ = type.Name();
      if (document_.Find(name_) < 0) {
        Add(DifferenceKind::kDeclarationOnlyOurs, "", "no such declaration", fmt::format("declaration `{}`", name_));
      }
    }
    return std::move(differences_);
  }

 private:
  void Add(DifferenceKind kind, std::string field, std::string document, std::string ours) {
    differences_.push_back({kind, name_, std::move(field), std::move(document), std::move(ours)});
  }
  std::string None(std::string_view what) const { return fmt::format("`{}` has no such {}", name_, what); }

  void Compare(const StructType& ours, const StructType& theirs, int64_t our_index, int64_t their_index) {
    const auto* our_structure = std::get_if<StructureType>(&ours.root.kind);
    const auto* their_structure = std::get_if<StructureType>(&theirs.root.kind);
    if ((our_structure == nullptr) != (their_structure == nullptr)) {
      Add(DifferenceKind::kNesting, "",
          fmt::format("`{}` is {}", name_, their_structure != nullptr ? "a structure" : "an array"),
          our_structure != nullptr ? "a structure" : "an array");
    } else if (our_structure == nullptr) {
      CompareTypes("", ours.root, theirs.root);
    } else {
      CompareParts(our_structure->fields, their_structure->fields, *ours_.Get(our_index), *document_.Get(their_index));
      CompareConstants(our_structure->fields, their_structure->fields);
    }
    CompareMetadata(ours.metadata, theirs.metadata);
  }

  template <typename T>
  static const T* FindField(const std::vector<Field>& fields, const std::string& name) {
    for (const Field& field : fields) {
      if (field.name == name) return std::get_if<T>(&field.content);
    }
    return nullptr;
  }

  void CompareParts(const std::vector<Field>& ours, const std::vector<Field>& theirs, const CheckedType& our_type,
                    const CheckedType& their_type) {
    std::vector<std::string> their_order;
    std::vector<std::string> our_order;
    for (const Field& field : theirs) {
      const auto* part = std::get_if<PhysicalType>(&field.content);
      if (part == nullptr) continue;
      const auto* ours_part = FindField<PhysicalType>(ours, field.name);
      if (ours_part == nullptr) {
        Add(DifferenceKind::kFieldMissing, field.name,
            fmt::format("`{}`: {}", field.name, Text(Flatten(*part, document_))), None("field"));
        continue;
      }
      their_order.push_back(field.name);
      CompareTypes(field.name, *ours_part, *part);
      const auto our_place = Place(our_type, field.name);
      const auto their_place = Place(their_type, field.name);
      if (our_place && their_place && *our_place != *their_place) {
        Add(DifferenceKind::kFieldPlace, field.name, fmt::format("`{}` from bit {}", field.name, *their_place),
            fmt::format("from bit {}", *our_place));
      }
    }
    for (const Field& field : ours) {
      const auto* part = std::get_if<PhysicalType>(&field.content);
      if (part == nullptr) continue;
      if (FindField<PhysicalType>(theirs, field.name) != nullptr) {
        our_order.push_back(field.name);
      } else {
        Add(DifferenceKind::kFieldOnlyOurs, field.name, "no such field",
            fmt::format("`{}`: {}", field.name, Text(Flatten(*part, ours_))));
      }
    }
    if (our_order != their_order) {
      Add(DifferenceKind::kFieldOrder, "", fmt::format("`{}`: {}", name_, fmt::join(their_order, ", ")),
          fmt::format("{}", fmt::join(our_order, ", ")));
    }
  }

  void CompareTypes(const std::string& field, const PhysicalType& ours, const PhysicalType& theirs) {
    const Flat mine = Flatten(ours, ours_);
    const Flat other = Flatten(theirs, document_);
    std::optional<DifferenceKind> kind;
    const bool nested = std::holds_alternative<std::string>(mine.elements);
    if (nested != std::holds_alternative<std::string>(other.elements) || (nested && mine.elements != other.elements)) {
      kind = DifferenceKind::kNesting;
    } else if (mine.elements != other.elements) {
      kind = DifferenceKind::kElementType;
    } else if (mine.Count() != other.Count()) {
      kind = DifferenceKind::kCount;
    } else if (mine.dims != other.dims) {
      kind = DifferenceKind::kDims;
    }
    if (kind) Add(*kind, field, fmt::format("`{}`: {}", field.empty() ? name_ : field, Text(other)), Text(mine));
  }

  void CompareConstants(const std::vector<Field>& ours, const std::vector<Field>& theirs) {
    for (const Field& field : theirs) {
      const auto* constant = std::get_if<Constant>(&field.content);
      if (constant == nullptr) continue;
      const std::string said = fmt::format("constant `{}`: {}", field.name, Text(*constant));
      const auto* mine = FindField<Constant>(ours, field.name);
      if (mine == nullptr) {
        Add(DifferenceKind::kConstantMissing, field.name, said, None("constant"));
      } else if (mine->type != constant->type) {
        Add(DifferenceKind::kConstantType, field.name, said, Text(*mine));
      } else if (mine->dims != constant->dims) {
        Add(DifferenceKind::kConstantDims, field.name, said, Text(*mine));
      } else if (mine->bytes != constant->bytes) {
        Add(DifferenceKind::kConstantValue, field.name, said, Text(*mine));
      }
    }
    for (const Field& field : ours) {
      const auto* constant = std::get_if<Constant>(&field.content);
      if (constant != nullptr && FindField<Constant>(theirs, field.name) == nullptr) {
        Add(DifferenceKind::kConstantOnlyOurs, field.name, "no such constant",
            fmt::format("constant `{}`: {}", field.name, Text(*constant)));
      }
    }
  }

  void CompareMetadata(const std::vector<Metadata>& ours, const std::vector<Metadata>& theirs) {
    for (const Metadata& entry : theirs) {
      if (std::find(ours.begin(), ours.end(), entry) != ours.end()) continue;
      Add(DifferenceKind::kMetadata, entry.key, fmt::format("metadata `{}`: `{}`", entry.key, entry.value),
          None("entry"));
    }
    for (const Metadata& entry : ours) {
      if (entry.key == kShapeKey || std::find(theirs.begin(), theirs.end(), entry) != theirs.end()) {
        continue;
      }
      Add(DifferenceKind::kMetadata, entry.key, "no such entry",
          fmt::format("metadata `{}`: `{}`", entry.key, entry.value));
    }
  }

  const TypeTable& ours_;
  const TypeTable& document_;
  std::string name_;  // of the declaration at hand
  std::vector<Difference> differences_;
};

Result<TypeTable> Checked(std::span<const StructType> types) {
  Problems problems;
  TypeTable table = TypeTable::Build({types.begin(), types.end()}, {}, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return table;
}

}  // namespace

std::string_view Name(DifferenceKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Result<std::vector<Difference>> CompareDeclarations(std::span<const StructType> ours,
                                                    std::span<const StructType> document) {
  TESSERA_ASSIGN(const TypeTable our_table, Checked(ours));
  TESSERA_ASSIGN(const TypeTable document_table, Checked(document));
  return Comparison(our_table, document_table).Run();
}

}  // namespace tessera
