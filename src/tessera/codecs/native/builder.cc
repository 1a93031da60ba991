#include "tessera/codecs/native/builder.h"

#include <array>
#include <numeric>
#include <variant>

#include "tessera/quant/families/family.h"

namespace tessera::native {
namespace {

// In the order of kFamilyNames.
constexpr std::array<FamilyBuilder, std::size(kFamilyNames)> kFamilies = {
    BuildLinear,   BuildCodebook, BuildFloatingPoint, BuildSparse,          BuildLog,
    BuildFunction, BuildTiling,   BuildCast,          BuildStructuredBlock,
};

uint64_t ElementsOf(const PhysicalType& type) {
  uint64_t count = 1;
  for (uint64_t dim : quant::DimsOf(type)) count *= dim;
  return count;
}

}  // namespace

std::vector<uint64_t> LogicalOf(std::span<const uint64_t> shape, std::span<const size_t> order) {
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) same = same && order[i] == i;
  if (same) return {};
  std::vector<uint64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  std::vector<uint64_t> logical = {0};
  for (size_t axis : order) {
    std::vector<uint64_t> finer;
    finer.reserve(logical.size() * shape[axis]);
    for (uint64_t at : logical) {
      for (uint64_t i = 0; i < shape[axis]; ++i) finer.push_back(at + i * strides[axis]);
    }
    logical = std::move(finer);
  }
  return logical;
}

Builder::Builder(std::span<const StructType> types, bool wide) : types_(types), arithmetic_(wide) {
  // Each declaration stands behind those that it refers to.
  for (const StructType& type : types) sizes_.push_back(SizeBits(type.root));
}

uint64_t Builder::SizeBits(const PhysicalType& type) const {
  if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) return BitWidth(scalar->type);
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) return ElementsOf(type) * SizeBits(*array->element);
  if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
    return sizes_[static_cast<size_t>(reference->index)];
  }
  uint64_t bits = 0;
  if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    for (const BitPackingType::Component& component : packing->components) bits += component.bits;
    return ElementsOf(type) * bits;
  }
  if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
    for (const Field& field : structure->fields) {
      if (const auto* part = std::get_if<PhysicalType>(&field.content)) bits += SizeBits(*part);
    }
  }
  return bits;
}

std::vector<Builder::Part> Builder::Parts(int32_t type) const {
  const auto* structure = std::get_if<StructureType>(&types_[static_cast<size_t>(type)].root.kind);
  std::vector<Part> parts;
  if (structure == nullptr) return parts;
  uint64_t bit = 0;
  for (const Field& field : structure->fields) {
    const auto* content = std::get_if<PhysicalType>(&field.content);
    if (content == nullptr) continue;
    const uint64_t bits = SizeBits(*content);
    if (!field.name.starts_with("padding")) {
      Part part;
      part.type = content;
      part.bit = bit;
      part.target = quant::Recoverer::Target(*content);
      part.count = ElementsOf(*content);
      part.stride = part.count == 0 ? 0 : bits / part.count;
      part.name = field.name;
      parts.push_back(part);
    }
    bit += bits;
  }
  return parts;
}

tl::unexpected<Error> Builder::NotAProfile(int32_t type, std::string_view field, std::string what) const {
  return quant::Reader(types_, type).NotAProfile(field, std::move(what));
}

Result<Builder::Part> Builder::Find(int32_t type, std::string_view name) const {
  for (const Part& part : Parts(type)) {
    if (part.name == name) return part;
  }
  return NotAProfile(type, name, "is missing");
}

Result<Builder::Part> Builder::Codes(int32_t type) const {
  const quant::Reader reader(types_, type);
  if (!reader.is_structure()) {
    // A bare array.
    const PhysicalType& root = types_[static_cast<size_t>(type)].root;
    return Part{.type = &root, .target = -1, .count = ElementsOf(root), .name = {}};
  }
  const Field* field = reader.Codes();
  if (field == nullptr) return NotAProfile(type, "", "has no field with codes");
  return Find(type, field->name);
}

Level Builder::Plain(const Profile& profile, int32_t type, std::vector<uint64_t> shape) {
  Level level;
  level.profile = &profile;
  level.type = type;
  level.values = 1;
  for (uint64_t dim : shape) level.values *= dim;
  level.order.resize(shape.size());
  std::iota(level.order.begin(), level.order.end(), size_t{0});
  level.shape = std::move(shape);
  return level;
}

Level Builder::TileLevel(const Tiles& tiles, const Profile& profile, int32_t type) {
  Level tile;
  tile.profile = &profile;
  tile.type = type;
  tile.shape = tiles.shape;
  tile.order = tiles.order;
  tile.values = tiles.values;
  tile.in_tile = true;
  return tile;
}

Codec::Common Builder::CommonOf(const Level& level, std::span<const size_t> order) const {
  Codec::Common common;
  common.arithmetic = arithmetic_;
  common.count = level.values;
  common.shape = level.shape;
  common.logical_of = LogicalOf(level.shape, order);
  common.pre = level.profile->pre_rotation;
  common.post = level.profile->post_rotation;
  const std::optional<ElementType>& own = level.profile->data_type;
  const ElementType computed = arithmetic_.Most() > 1e300 ? ElementType::kDouble : ElementType::kFloat;
  if (!level.is_root && own && *own != computed && *own != ElementType::kDouble) common.data_type = own;
  return common;
}

Result<CodecPtr> Builder::Build(const Level& level) { return kFamilies[level.profile->kind.index() - 1](this, level); }

}  // namespace tessera::native
