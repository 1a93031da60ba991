// Where the values of a profile lie: what decoders and encoders know of a declaration and its tiles. Private to
// codecs/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/tiles.h"
#include "tessera/types/function_builder.h"

namespace tessera::decoders {

// A declaration at its place.
struct Place {
  int32_t type = 0;    // its index
  std::string prefix;  // of its leaves' paths: "tiles."; for a bare array the path itself, without a point
  int64_t batch = 1;   // how many of it there are: the product of the arrays around
};

// As quant::Level: what a profile's values are.
struct Level {
  const Profile* profile = nullptr;
  Place place;
  std::vector<uint64_t> shape;  // logical
  std::vector<size_t> order;    // the axes from the outermost to the innermost in memory
  int64_t values = 0;           // product of shape
  bool is_root = false;
  bool in_tile = false;
  const Level* tiling = nullptr;  // the innermost Tiling around; nullptr outside
  const Level* root = nullptr;    // the outermost one
  std::vector<uint64_t> grid;     // of the innermost one

  // Sizes in memory order.
  Dims MemoryDims() const;
  // The same behind the batch.
  Dims BatchDims() const;
  // The axis of channels, of a profile that stores something per channel, and where an axis stands in memory order.
  size_t ChannelAxis() const;
  size_t MemoryAxis(size_t axis) const;
};

// The level of a whole tensor. `profile` has to outlive it. Errors: kProfileShape for more than 2^63 - 1 values.
Result<Level> RootLevel(const Profile& profile, std::span<const int64_t> shape, int32_t type);
// The level of the tiles that have that profile. The levels and the profile have to outlive it.
Level TileLevel(const Level& level, const Tiles& tiles, const Profile& profile, Place place);

// The level of a stored parameter that is a profile: the tensor of all its values. `types` are those of the value.
// REQUIRES: such a parameter. Errors: kNotAProfile.
Result<Level> ParameterLevel(std::span<const StructType> types, const Level& level, const Stored& stored,
                             std::string_view name);

// How the values of tiles, one tile after the other, come to where the level has them: as `dims`, transposed by `perm`.
struct TileOrder {
  Dims dims;  // the batch in front
  std::vector<int64_t> perm;
};
TileOrder TileOrderOf(const Level& level, const TilingProfile& tiling, const Tiles& tiles);

// The place of the declaration that a field refers to; `reader` reads that of `place`. Errors: kNotAProfile.
Result<Place> Inside(const quant::Reader& reader, const Place& place, std::string_view field);
// The field with the codes, tiles or blocks. Errors: kNotAProfile.
Result<std::string> CodesField(const quant::Reader& reader);
// The leaf of a declaration that is a bare array: the place and the name to find it by.
std::pair<Place, std::string> BareArray(const Place& place);

}  // namespace tessera::decoders
