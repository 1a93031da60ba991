#include "tessera/types/type_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "tessera/base/checked.h"
#include "tessera/types/function_check.h"

namespace tessera {

// What is known of a part without expanding it.
struct TypeTable::Summary {
  bool valid = false;
  uint64_t size_bits = 0;
  uint32_t depth = 1;       // a scalar or bit packing alone has 1
  uint64_t leaves = 0;      // saturates
  uint64_t path_bytes = 0;  // of all leaf paths together; saturates
};

namespace {

constexpr uint64_t kMaxPathBytes = uint64_t{1} << 26;  // of one declaration's leaves together

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return CheckedAdd(a, b).value_or(UINT64_MAX); }
uint64_t SaturatingMul(uint64_t a, uint64_t b) { return CheckedMul(a, b).value_or(UINT64_MAX); }

std::string InputName(std::string_view path) {
  std::string name(path);
  for (char& c : name) {
    bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  return name;
}

ElementType ComponentType(uint32_t bits) {
  if (bits <= 8) return ElementType::kUint8;
  if (bits <= 16) return ElementType::kUint16;
  return bits <= 32 ? ElementType::kUint32 : ElementType::kUint64;
}

// Lists the leaves of a checked type, depth-first in declaration order.
class LeafExpander {
 public:
  LeafExpander(const std::vector<StructType>& types, const std::vector<TypeTable::Summary>& summaries,
               std::vector<Leaf>* leaves)
      : types_(types), summaries_(summaries), leaves_(leaves) {}

  void Expand(const PhysicalType& type) { Visit(type, "", 0, {}, {}); }

 private:
  uint64_t SizeBits(const PhysicalType& type) const {
    if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) return BitWidth(scalar->type);
    if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
      return SaturatingMul(SizeBits(*array->element), CheckedProduct(array->dims).value_or(UINT64_MAX));
    }
    if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
      return SaturatingMul(ElementBits(*packing), CheckedProduct(packing->dims).value_or(UINT64_MAX));
    }
    if (const auto* reference = std::get_if<TypeReference>(&type.kind)) return summaries_[reference->index].size_bits;
    uint64_t size = 0;
    if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
      for (const Field& field : structure->fields) {
        if (const auto* part = std::get_if<PhysicalType>(&field.content)) size += SizeBits(*part);
      }
    }
    return size;
  }

  static uint64_t ElementBits(const BitPackingType& packing) {
    uint64_t bits = 0;
    for (const BitPackingType::Component& component : packing.components) bits += component.bits;
    return bits;
  }

  static std::string Join(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  // Appends row-major dimensions of elements that are `element_bits` apart. A stride saturates only in an array that
  // has a dimension 0, where no element uses it.
  static void AppendDims(const std::vector<uint64_t>& dims, uint64_t element_bits, std::vector<uint64_t>* all_dims,
                         std::vector<uint64_t>* strides) {
    size_t first = strides->size();
    strides->resize(first + dims.size());
    uint64_t stride = element_bits;
    for (size_t i = dims.size(); i-- > 0;) {
      (*strides)[first + i] = stride;
      stride = SaturatingMul(stride, dims[i]);
    }
    all_dims->insert(all_dims->end(), dims.begin(), dims.end());
  }

  void Visit(const PhysicalType& type, const std::string& path, uint64_t offset, std::vector<uint64_t> dims,
             std::vector<uint64_t> strides) {
    if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) {
      AddLeaf(path, scalar->type, false, BitWidth(scalar->type), offset, std::move(dims), std::move(strides));
    } else if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
      AppendDims(array->dims, SizeBits(*array->element), &dims, &strides);
      Visit(*array->element, path, offset, std::move(dims), std::move(strides));
    } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
      uint64_t below = ElementBits(*packing);
      AppendDims(packing->dims, below, &dims, &strides);
      for (const BitPackingType::Component& component : packing->components) {
        below -= component.bits;  // components stand from the most significant bit downwards
        AddLeaf(Join(path, component.name), ComponentType(component.bits), true, component.bits, offset + below, dims,
                strides);
      }
    } else if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
      Visit(types_[reference->index].root, path, offset, std::move(dims), std::move(strides));
    } else if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
      for (const Field& field : structure->fields) {
        std::string field_path = Join(path, field.name);
        if (const auto* constant = std::get_if<Constant>(&field.content)) {
          AddConstant(field_path, *constant);
        } else if (const auto* part = std::get_if<PhysicalType>(&field.content)) {
          Visit(*part, field_path, offset, dims, strides);
          offset += SizeBits(*part);
        }
      }
    }
  }

  void AddLeaf(const std::string& path, ElementType type, bool component, uint32_t bits, uint64_t offset,
               std::vector<uint64_t> dims, std::vector<uint64_t> strides) {
    Leaf leaf;
    leaf.path = path.empty() ? "values" : path;
    leaf.input_name = InputName(leaf.path);
    leaf.type = type;
    leaf.component = component;
    leaf.bits = bits;
    leaf.bit_offset = offset;
    leaf.dims = std::move(dims);
    leaf.bit_strides = std::move(strides);
    leaves_->push_back(std::move(leaf));
  }

  void AddConstant(const std::string& path, const Constant& constant) {
    Leaf leaf;
    leaf.path = path;
    leaf.input_name = InputName(path);
    leaf.type = constant.type;
    leaf.bits = BitWidth(constant.type);
    leaf.dims.assign(constant.dims.begin(), constant.dims.end());
    leaf.bit_strides.resize(leaf.dims.size());
    uint64_t stride = leaf.bits;
    for (size_t i = leaf.dims.size(); i-- > 0;) {
      leaf.bit_strides[i] = stride;
      stride = SaturatingMul(stride, leaf.dims[i]);
    }
    leaf.constant = &constant;
    leaves_->push_back(std::move(leaf));
  }

  const std::vector<StructType>& types_;
  const std::vector<TypeTable::Summary>& summaries_;
  std::vector<Leaf>* leaves_;
};

}  // namespace

uint64_t Leaf::Count() const { return CheckedProduct(dims).value_or(UINT64_MAX); }

uint64_t Leaf::EndBit() const {
  if (Count() == 0) return bit_offset;
  uint64_t last = bit_offset;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * bit_strides[i];
  return last + bits;
}

const Leaf* CheckedType::FindLeaf(std::string_view path) const {
  for (const Leaf& leaf : leaves) {
    if (leaf.path == path) return &leaf;
  }
  return nullptr;
}

// The checks, in two passes: what a declaration says by itself, then (in an order in which every reference points to
// something already measured) sizes, depths and leaves.
class TypeTable::Checker {
 public:
  // `summaries` are those of `types`: filled by CheckAll, complete before CheckOne.
  Checker(const std::vector<StructType>& types, const std::vector<Summary>& summaries, const Limits& limits,
          uint64_t* leaves_left, Problems* problems)
      : types_(types), summaries_(summaries), limits_(limits), leaves_left_(leaves_left), problems_(problems) {}

  // REQUIRES: `summaries` is the vector that the constructor got.
  void CheckAll(const std::vector<bool>& refused, std::vector<Summary>* summaries) {
    local_ok_.resize(types_.size());
    references_.resize(types_.size());
    std::unordered_map<std::string_view, size_t> names;
    for (size_t i = 0; i < types_.size(); ++i) {
      Path path = Root(i);
      size_t before = problems_->count();
      CheckDeclarationName(types_[i], i, path, &names);
      CheckLocally(types_[i], path, &references_[i]);
      local_ok_[i] = problems_->count() == before && (refused.empty() || !refused[i]);
    }
    std::vector<size_t> order = OrderByReference();
    for (size_t i : order) Measure(types_[i], local_ok_[i], Root(i), &(*summaries)[i]);
    std::vector<bool> is_part(types_.size());
    for (const std::vector<Reference>& references : references_) {
      for (const Reference& reference : references) is_part[reference.index] = true;
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (summaries_[i].valid) (*summaries)[i].valid = CheckExpanded(types_[i], summaries_[i], is_part[i], Root(i));
    }
  }

  // For a declaration outside the table.
  bool CheckOne(const StructType& type, const Path& path, uint64_t* size_bits) {
    size_t before = problems_->count();
    std::vector<Reference> references;
    CheckLocally(type, path, &references);
    Summary summary;
    Measure(type, problems_->count() == before, path, &summary);
    if (!summary.valid && problems_->count() == before) ReportInvalid(references);
    *size_bits = summary.size_bits;
    return summary.valid && CheckExpanded(type, summary, false, path);
  }

 private:
  struct Reference {
    int32_t index;
    std::string path;
  };

  // A declaration of the table is reported where it stands; a declaration outside that needs it says so itself.
  void ReportInvalid(const std::vector<Reference>& references) {
    for (const Reference& reference : references) {
      if (summaries_[reference.index].valid) continue;
      problems_->Add(ErrorCode::kTypeInvalid, reference.path,
                     fmt::format("struct_types[{}] is not in order", reference.index), "a type without problems");
    }
  }

  // `struct_types[i]`, and nothing for a list that stands alone.
  static Path Root(size_t i) {
    static const Path root;
    return root.Index("struct_types", i);
  }

  // Where the kind of a type stands: in the declaration itself, or for a part in its TypeProto's struct_type.
  static Path KindPath(const Path& path, bool is_root) { return is_root ? path : path.Field("struct_type"); }

  void Add(ErrorCode code, const Path& at, std::string what, std::string fix) {
    problems_->Add(code, at.Str(), std::move(what), std::move(fix));
  }

  void CheckDeclarationName(const StructType& type, size_t index, const Path& path,
                            std::unordered_map<std::string_view, size_t>* names) {
    const std::string& name = type.Name();
    if (name.empty()) {
      Add(ErrorCode::kTypeName, path.Field("name"), "is empty", "a name of its own for every declaration");
    } else if (auto [first, fresh] = names->emplace(name, index); !fresh) {
      Add(ErrorCode::kTypeName, path.Field("name"),
          fmt::format("{} is the name of struct_types[{}]", Quoted(name), first->second),
          "a name of its own for every declaration");
    }
  }

  void CheckLocally(const StructType& type, const Path& path, std::vector<Reference>* references) {
    fields_ = 0;
    constant_bytes_ = 0;
    if (std::holds_alternative<TypeReference>(type.root.kind)) {
      Add(ErrorCode::kRootReference, path.Field("type_index"), "a declaration may not be a reference",
          "array, structure or bit_packing");
    } else if (std::holds_alternative<std::monostate>(type.root.kind) ||
               std::holds_alternative<ScalarType>(type.root.kind)) {
      Add(ErrorCode::kRootKind, path, "selects no kind", "array, structure or bit_packing");
    } else {
      CheckPart(type.root, path, 1, references);
    }
  }

  bool CountFields(uint64_t more, const Path& path) {
    fields_ = SaturatingAdd(fields_, more);
    if (fields_ <= limits_.fields) return true;
    Add(ErrorCode::kLimitFields, path, fmt::format("has {} fields and components or more", fields_),
        fmt::format("at most {}", limits_.fields));
    return false;
  }

  void CheckPart(const PhysicalType& type, const Path& path, uint32_t depth, std::vector<Reference>* references) {
    if (depth > limits_.depth) {
      Add(ErrorCode::kLimitDepth, path, fmt::format("is nested {} deep", depth),
          fmt::format("at most {}", limits_.depth));
      return;
    }
    const Path kind = KindPath(path, depth == 1);
    if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) {
      if (!IsFixedWidth(scalar->type)) {
        Add(ErrorCode::kLeafType, path.Field("tensor_type").Field("elem_type"),
            fmt::format("{} is not a fixed-width scalar", tessera::Name(scalar->type)),
            "an element type with a width in bits");
      }
    } else if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
      Path at = kind.Field("array");
      if (array->dims.empty()) {
        Add(ErrorCode::kArrayDimensions, at.Field("dimension"), "has none", "at least one; 0 is allowed as a value");
      }
      CheckPart(*array->element, at.Field("element_type"), depth + 1, references);
    } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
      CheckPacking(*packing, kind.Field("bit_packing"));
    } else if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
      if (depth > 1) {
        Add(ErrorCode::kPartKind, path, "is a structure inside another type", "a type_index");
        return;
      }
      CheckStructure(*structure, kind.Field("structure"), depth, references);
    } else if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
      if (reference->index < 0 || static_cast<size_t>(reference->index) >= types_.size()) {
        Add(ErrorCode::kTypeIndex, kind.Field("type_index"), fmt::format("is {}", reference->index),
            types_.empty() ? "there are no declarations to refer to" : fmt::format("0 to {}", types_.size() - 1));
      } else {
        references->push_back({reference->index, kind.Field("type_index").Str()});
      }
    } else {
      Add(ErrorCode::kPartKind, path, "selects no kind", "a scalar, array, bit_packing or type_index");
    }
  }

  void CheckName(const std::string& name, std::unordered_set<std::string_view>* names, const Path& path) {
    if (name.empty()) {
      Add(ErrorCode::kFieldName, path.Field("name"), "is empty", "a name");
    } else if (name.size() > limits_.name_bytes) {
      Add(ErrorCode::kFieldName, path.Field("name"), fmt::format("has {} bytes", name.size()),
          fmt::format("at most {}", limits_.name_bytes));
    } else if (!names->insert(name).second) {
      Add(ErrorCode::kFieldName, path.Field("name"), Quoted(name) + " is taken", "a name of its own");
    }
  }

  void CheckPacking(const BitPackingType& packing, const Path& path) {
    if (!CountFields(packing.components.size(), path)) return;
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < packing.components.size(); ++i) {
      const BitPackingType::Component& component = packing.components[i];
      Path at = path.Index("component", i);
      CheckName(component.name, &names, at);
      if (component.bits == 0 || component.bits > 64) {
        Add(ErrorCode::kComponentWidth, at.Field("bit_width"), fmt::format("is {}", component.bits), "1 to 64");
      }
    }
  }

  void CheckStructure(const StructureType& structure, const Path& path, uint32_t depth,
                      std::vector<Reference>* references) {
    if (!CountFields(structure.fields.size(), path)) return;
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i < structure.fields.size(); ++i) {
      const Field& field = structure.fields[i];
      Path at = path.Index("field", i);
      CheckName(field.name, &names, at);
      if (const auto* part = std::get_if<PhysicalType>(&field.content)) {
        CheckPart(*part, at.Field("type"), depth + 1, references);
      } else if (const auto* constant = std::get_if<Constant>(&field.content)) {
        CheckConstant(*constant, at.Field("constant"));
      } else {
        Add(ErrorCode::kFieldContent, at, "has neither type nor constant", "one of the two");
      }
    }
  }

  void CheckConstant(const Constant& constant, const Path& path) {
    if (!IsFixedWidth(constant.type)) {
      Add(ErrorCode::kLeafType, path.Field("data_type"),
          fmt::format("{} is not a fixed-width scalar", tessera::Name(constant.type)),
          "an element type with a width in bits");
      return;
    }
    for (size_t i = 0; i < constant.dims.size(); ++i) {
      if (constant.dims[i] < 0) {
        Add(ErrorCode::kConstantDims, path.Index("dims", i), fmt::format("is {}", constant.dims[i]), "0 or more");
        return;
      }
    }
    std::optional<uint64_t> count = CheckedProduct(constant.dims);
    std::optional<uint64_t> bits = count ? CheckedMul(*count, BitWidth(constant.type)) : std::nullopt;
    if (!bits) {
      Add(ErrorCode::kConstantDims, path.Field("dims"), "have a product that does not fit into 64 bits",
          "fewer elements");
      return;
    }
    uint64_t bytes = CeilDiv(*bits, 8);
    if (constant.bytes.size() != bytes) {
      Add(ErrorCode::kConstantData, path, fmt::format("has {} bytes of data", constant.bytes.size()),
          fmt::format("{} bytes for {} elements of {}", bytes, *count, tessera::Name(constant.type)));
      return;
    }
    constant_bytes_ = SaturatingAdd(constant_bytes_, bytes);
    if (constant_bytes_ > limits_.constant_bytes) {
      Add(ErrorCode::kLimitConstant, path, fmt::format("brings the constants to {} bytes", constant_bytes_),
          fmt::format("at most {}", limits_.constant_bytes));
    }
  }

  // Depth-first order over the references; members of a cycle, reported once, are left out (their summaries stay
  // invalid).
  std::vector<size_t> OrderByReference() {
    enum class Mark : uint8_t { kNew, kOpen, kDone };
    struct Frame {
      size_t type;
      size_t next;
    };
    std::vector<Mark> marks(types_.size(), Mark::kNew);
    std::vector<size_t> order;
    std::vector<Frame> stack;
    for (size_t start = 0; start < types_.size(); ++start) {
      if (marks[start] != Mark::kNew) continue;
      stack.push_back({start, 0});
      marks[start] = Mark::kOpen;
      while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next == references_[frame.type].size()) {
          marks[frame.type] = Mark::kDone;
          order.push_back(frame.type);
          stack.pop_back();
          continue;
        }
        const Reference& reference = references_[frame.type][frame.next++];
        size_t target = static_cast<size_t>(reference.index);
        if (marks[target] == Mark::kNew) {
          marks[target] = Mark::kOpen;
          stack.push_back({target, 0});
        } else if (marks[target] == Mark::kOpen) {
          problems_->Add(ErrorCode::kReferenceCycle, reference.path,
                         fmt::format("{} leads back to struct_types[{}], which contains it", target, target),
                         "references without a cycle");
          local_ok_[frame.type] = false;
        }
      }
    }
    return order;
  }

  void Measure(const StructType& type, bool local_ok, const Path& path, Summary* summary) {
    if (!local_ok) return;
    std::optional<Summary> measured = MeasureKind(type.root, path, 0);
    if (!measured) return;
    *summary = *measured;
    summary->valid = false;
    if (summary->depth > limits_.depth) {
      Add(ErrorCode::kLimitDepth, path, fmt::format("is nested {} deep, references included", summary->depth),
          fmt::format("at most {}", limits_.depth));
    } else if (summary->leaves > limits_.leaves || summary->path_bytes > kMaxPathBytes) {
      Add(ErrorCode::kLimitLeaves, path,
          fmt::format("has {} leaves with {} bytes of names", summary->leaves, summary->path_bytes),
          fmt::format("at most {} leaves and {} bytes", limits_.leaves, kMaxPathBytes));
    } else {
      summary->valid = true;
    }
  }

  std::optional<Summary> MeasurePart(const PhysicalType& type, const Path& path, uint64_t prefix) {
    return MeasureKind(type, path.Field("struct_type"), prefix);
  }

  // nullopt: a problem was reported here, or a declaration that this one needs is invalid.
  // `kind` is where the type's kind stands (KindPath), `prefix` the length of the leaf path in front of its own names.
  std::optional<Summary> MeasureKind(const PhysicalType& type, const Path& kind, uint64_t prefix) {
    Summary s;
    if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) {
      s.size_bits = BitWidth(scalar->type);
      s.leaves = 1;
      s.path_bytes = std::max<uint64_t>(prefix, 6);
    } else if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
      const Path at = kind.Field("array");
      std::optional<Summary> element = MeasurePart(*array->element, at.Field("element_type"), prefix);
      if (!element) return std::nullopt;
      s = *element;
      s.depth = element->depth + 1;
      if (!Multiply(CheckedProduct(array->dims), array->dims, at, &s.size_bits)) return std::nullopt;
    } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
      for (const BitPackingType::Component& component : packing->components) {
        s.size_bits += component.bits;  // at most limits.fields times 64
        s.path_bytes = SaturatingAdd(s.path_bytes, prefix + 1 + component.name.size());
      }
      s.leaves = packing->components.size();
      if (!Multiply(CheckedProduct(packing->dims), packing->dims, kind.Field("bit_packing"), &s.size_bits)) {
        return std::nullopt;
      }
    } else if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
      s = summaries_[reference->index];
      if (!s.valid) return std::nullopt;
      s.path_bytes = SaturatingAdd(s.path_bytes, SaturatingMul(s.leaves, prefix + 1));
    } else if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
      for (size_t i = 0; i < structure->fields.size(); ++i) {
        const Field& field = structure->fields[i];
        uint64_t field_prefix = prefix + 1 + field.name.size();
        if (std::holds_alternative<Constant>(field.content)) {
          s.leaves = SaturatingAdd(s.leaves, 1);
          s.path_bytes = SaturatingAdd(s.path_bytes, field_prefix);
          continue;
        }
        const Path fields = kind.Field("structure");
        const Path at = fields.Index("field", i);
        std::optional<Summary> part =
            MeasurePart(std::get<PhysicalType>(field.content), at.Field("type"), field_prefix);
        if (!part) return std::nullopt;
        std::optional<uint64_t> sum = CheckedAdd(s.size_bits, part->size_bits);
        if (!sum) {
          Add(ErrorCode::kSizeOverflow, at, "the size in bits up to here does not fit into 64 bits", "a smaller type");
          return std::nullopt;
        }
        s.size_bits = *sum;
        s.leaves = SaturatingAdd(s.leaves, part->leaves);
        s.path_bytes = SaturatingAdd(s.path_bytes, part->path_bytes);
        s.depth = std::max(s.depth, part->depth + 1);
      }
    }
    s.valid = true;
    return s;
  }

  bool Multiply(std::optional<uint64_t> count, const std::vector<uint64_t>& dims, const Path& path, uint64_t* bits) {
    std::optional<uint64_t> size = count ? CheckedMul(*count, *bits) : std::nullopt;
    if (!size) {
      Add(ErrorCode::kSizeOverflow, path,
          fmt::format(
              "{} elements of {} bits do not fit into 64 bits",
              fmt::join(std::vector<uint64_t>(dims.begin(), dims.begin() + std::min<size_t>(dims.size(), 8)), " x "),
              *bits),
          "smaller dimensions");
      return false;
    }
    *bits = *size;
    return true;
  }

  // What needs the list of leaves (their names, decoder and encoder), and the size of a whole value. A declaration that
  // others refer to may end inside a byte; it is checked again where it is the type of a value.
  bool CheckExpanded(const StructType& type, const Summary& summary, bool is_part, const Path& path) {
    if (!is_part && summary.size_bits % 8 != 0) {
      Add(ErrorCode::kSizeBits, path, fmt::format("has {} bits", summary.size_bits),
          fmt::format("whole bytes: {} bits of padding", 8 - summary.size_bits % 8));
      return false;
    }
    if (summary.leaves > *leaves_left_) {
      Add(ErrorCode::kLimitLeaves, path, fmt::format("has {} leaves, more than are left for this file", summary.leaves),
          fmt::format("at most {} in all declarations", limits_.total_leaves));
      return false;
    }
    *leaves_left_ -= summary.leaves;
    size_t before = problems_->count();
    std::vector<Leaf> leaves;
    LeafExpander(types_, summaries_, &leaves).Expand(type.root);
    std::unordered_map<std::string_view, size_t> names;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (auto [first, fresh] = names.emplace(leaves[i].input_name, i); !fresh) {
        Add(ErrorCode::kLeafNames, path,
            fmt::format("leaves {} and {} would both be the decoder input {}", Quoted(leaves[first->second].path),
                        Quoted(leaves[i].path), Quoted(leaves[i].input_name)),
            "names that differ in letters and digits");
      }
    }
    if (type.decoder) CheckDecoder(*type.decoder, leaves, path.Field("decoder"), problems_);
    if (type.encoder) {
      CheckEncoder(*type.encoder, type.decoder ? &*type.decoder : nullptr, CeilDiv(summary.size_bits, 8),
                   path.Field("encoder"), problems_);
    }
    return problems_->count() == before;
  }

  const std::vector<StructType>& types_;
  const std::vector<Summary>& summaries_;
  const Limits& limits_;
  uint64_t* leaves_left_;
  Problems* problems_;
  std::vector<bool> local_ok_;
  std::vector<std::vector<Reference>> references_;
  uint64_t fields_ = 0;
  uint64_t constant_bytes_ = 0;
};

TypeTable TypeTable::Build(std::vector<StructType> types, const Limits& limits, Problems* problems,
                           const std::vector<bool>& refused) {
  TypeTable table;
  table.limits_ = limits;
  table.leaves_left_ = limits.total_leaves;
  auto summaries = std::make_shared<std::vector<Summary>>(types.size());
  Checker(types, *summaries, limits, &table.leaves_left_, problems).CheckAll(refused, summaries.get());
  table.checked_.resize(types.size());
  table.types_ = std::make_shared<const std::vector<StructType>>(std::move(types));
  table.summaries_ = std::move(summaries);
  return table;
}

int32_t TypeTable::Find(std::string_view name) const {
  for (size_t i = 0; i < types_->size(); ++i) {
    if ((*types_)[i].Name() == name) return static_cast<int32_t>(i);
  }
  return -1;
}

std::shared_ptr<const CheckedType> TypeTable::Expand(StructType type, uint64_t size_bits) const {
  auto checked = std::make_shared<CheckedType>();
  checked->declaration = std::move(type);
  checked->size_bits = size_bits;
  checked->table = types_;
  LeafExpander(*types_, *summaries_, &checked->leaves).Expand(checked->declaration.root);
  return checked;
}

std::shared_ptr<const CheckedType> TypeTable::Get(int64_t index) const {
  if (index < 0 || static_cast<size_t>(index) >= types_->size()) return nullptr;
  const Summary& summary = (*summaries_)[index];
  if (!summary.valid) return nullptr;
  std::shared_ptr<const CheckedType>& checked = checked_[index];
  if (checked == nullptr) checked = Expand((*types_)[index], summary.size_bits);
  return checked;
}

std::shared_ptr<const CheckedType> TypeTable::CheckInline(StructType type, const Path& path, Problems* problems) const {
  uint64_t size_bits = 0;
  Checker checker(*types_, *summaries_, limits_, &leaves_left_, problems);
  if (!checker.CheckOne(type, path, &size_bits)) return nullptr;
  return Expand(std::move(type), size_bits);
}

}  // namespace tessera
