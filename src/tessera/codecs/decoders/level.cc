#include "tessera/codecs/decoders/level.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::decoders {

Dims Level::MemoryDims() const {
  Dims dims;
  for (size_t axis : order) dims.push_back(static_cast<int64_t>(shape[axis]));
  if (dims.empty()) dims.push_back(1);
  return dims;
}

Dims Level::BatchDims() const {
  Dims dims = MemoryDims();
  dims.insert(dims.begin(), place.batch);
  return dims;
}

size_t Level::ChannelAxis() const {
  const auto* linear = std::get_if<LinearProfile>(&profile->kind);
  return linear == nullptr ? 0 : static_cast<size_t>(linear->axis);
}

size_t Level::MemoryAxis(size_t axis) const {
  return static_cast<size_t>(std::find(order.begin(), order.end(), axis) - order.begin());
}

Result<Level> RootLevel(const Profile& profile, std::span<const int64_t> shape, int32_t type) {
  Level level;
  level.profile = &profile;
  level.is_root = true;
  level.place.type = type;
  for (size_t i = 0; i < shape.size(); ++i) {
    level.shape.push_back(static_cast<uint64_t>(shape[i]));
    level.order.push_back(i);
  }
  const std::optional<uint64_t> values = CheckedProduct(level.shape);
  if (!values || *values > static_cast<uint64_t>(INT64_MAX)) {
    return Fail(ErrorCode::kProfileShape, ShapeText(shape), "the tensor has more than 2^63 - 1 values",
                "a smaller shape");
  }
  level.values = static_cast<int64_t>(*values);
  return level;
}

Level TileLevel(const Level& level, const Tiles& tiles, const Profile& profile, Place place) {
  Level tile;
  tile.profile = &profile;
  tile.place = std::move(place);
  tile.shape = tiles.shape;
  tile.order = tiles.order;
  tile.values = static_cast<int64_t>(tiles.values);
  tile.in_tile = true;
  tile.tiling = &level;
  tile.root = level.in_tile ? level.root : &level;
  tile.grid = tiles.grid;
  return tile;
}

Result<Level> ParameterLevel(std::span<const StructType> types, const Level& level, const Stored& stored,
                             std::string_view name) {
  const Level* owner = stored.per == Stored::Per::kTensor && level.in_tile ? level.root : &level;
  if (stored.per == Stored::Per::kTile) owner = level.tiling;
  if (owner == nullptr) {
    return quant::Reader(types, level.place.type).NotAProfile(name, "is stored where there are no tiles");
  }
  Level nested;
  nested.profile = &*std::get<Box<Profile>>(stored.type);
  TESSERA_ASSIGN(nested.place, Inside(quant::Reader(types, owner->place.type), owner->place, name));
  nested.shape = {1};
  if (stored.per == Stored::Per::kTile) nested.shape = level.grid;
  if (stored.per == Stored::Per::kChannel) nested.shape = {level.shape[level.ChannelAxis()]};
  nested.values = 1;
  for (size_t i = 0; i < nested.shape.size(); ++i) {
    nested.order.push_back(i);
    nested.values *= static_cast<int64_t>(nested.shape[i]);
  }
  return nested;
}

TileOrder TileOrderOf(const Level& level, const TilingProfile& tiling, const Tiles& tiles) {
  TileOrder order{{level.place.batch}, {0}};
  const size_t rank = level.order.size();
  if (tiles.counts.empty()) {
    // Runs of the flattened tensor, which `perm` may flatten in an order of its own.
    if (tiling.perm.empty()) return {{level.place.batch, level.values}, {0, 1}};
    for (int32_t axis : tiling.perm) order.dims.push_back(static_cast<int64_t>(level.shape[static_cast<size_t>(axis)]));
    for (size_t axis : level.order) {
      const auto at = std::find(tiling.perm.begin(), tiling.perm.end(), static_cast<int32_t>(axis));
      order.perm.push_back(1 + (at - tiling.perm.begin()));
    }
    return order;
  }
  // Tiles and values in their memory order.
  for (size_t axis : tiles.order) order.dims.push_back(static_cast<int64_t>(tiles.counts[axis]));
  for (size_t axis : tiles.order) order.dims.push_back(static_cast<int64_t>(tiles.shape[axis]));
  for (size_t axis : level.order) {
    const auto at = std::find(tiles.order.begin(), tiles.order.end(), axis) - tiles.order.begin();
    order.perm.push_back(1 + at);
    order.perm.push_back(1 + static_cast<int64_t>(rank) + at);
  }
  return order;
}

Result<Place> Inside(const quant::Reader& reader, const Place& place, std::string_view field) {
  const PhysicalType* part = reader.FindPart(field);
  const int32_t target = part == nullptr ? -1 : quant::Recoverer::Target(*part);
  if (target < 0) return reader.NotAProfile(field, "is no struct type");
  Place inside{target, fmt::format("{}{}.", place.prefix, field), place.batch};
  for (uint64_t dim : quant::DimsOf(*part)) inside.batch *= static_cast<int64_t>(dim);
  return inside;
}

Result<std::string> CodesField(const quant::Reader& reader) {
  const Field* field = reader.Codes();
  if (field == nullptr) return reader.NotAProfile("", "has no field with codes");
  return field->name;
}

std::pair<Place, std::string> BareArray(const Place& place) {
  if (place.prefix.empty()) return {place, "values"};
  // It has no field: its leaf is called as the field that refers to it.
  Place outside = place;
  outside.prefix.clear();
  return {outside, place.prefix.substr(0, place.prefix.size() - 1)};
}

}  // namespace tessera::decoders
