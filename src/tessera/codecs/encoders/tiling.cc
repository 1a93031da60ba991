// TilingQuantizationProto: the values of each tile, one tile after the other, all tiles of a kind at once.
#include <algorithm>

#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

// From [batch, values] in the level's memory order to [batch * tiles, values of a tile].
Value TileValues(FunctionBuilder* builder, const Level& level, const TilingProfile& tiling, const Tiles& tiles,
                 const Value& values) {
  const decoders::TileOrder order = decoders::TileOrderOf(level, tiling, tiles);
  Dims dims;
  std::vector<int64_t> back(order.perm.size());
  for (size_t i = 0; i < order.perm.size(); ++i) {
    dims.push_back(order.dims[static_cast<size_t>(order.perm[i])]);
    back[static_cast<size_t>(order.perm[i])] = static_cast<int64_t>(i);
  }
  const Value moved = builder->Transpose(builder->Reshape(values, dims), back);
  return builder->Reshape(moved,
                          {level.place.batch * static_cast<int64_t>(tiles.count), static_cast<int64_t>(tiles.values)});
}

// One array of codes, with a constant scale and zero point for each tile.
Result<void> Merged(EncoderWriter* writer, const Level& level, const TilingProfile& tiling, const Tiles& tiles,
                    const Value& values) {
  FunctionBuilder& b = writer->builder();
  const auto count = static_cast<int64_t>(tiles.count);
  Place place = level.place;
  place.batch *= count;
  const Level tile = TileLevel(level, tiles, tiling.elem_quant.front(), place);
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  for (size_t i = 0; i < tiles.count; ++i) {
    const Profile& profile = tiling.elem_quant[i % tiling.elem_quant.size()];
    if (const auto* linear = std::get_if<LinearProfile>(&profile.kind)) {
      scales.push_back(writer->ConstantScale(linear->scale));
      zero_points.push_back(std::get<int64_t>(linear->zero_point));
    } else {
      scales.push_back(writer->ConstantScale(std::get<CodebookProfile>(profile.kind).scale));
    }
  }
  const Dims dims = {1, count, 1};
  const Dims by_tile = {level.place.batch, count, tile.values};
  Value nan;
  const Value shaped = b.Reshape(writer->WithoutNan(values, &nan), by_tile);
  const Value quotients = writer->DividedBy(shaped, dims, scales);
  const Dims flat = {place.batch, tile.values};
  if (zero_points.empty()) return StoreCodebook(writer, tile, b.Reshape(quotients, flat));
  return StoreLinear(writer, tile, quotients, b.Reshape(nan, by_tile), zero_points, dims);
}

// The runs of equal tiles in a declaration, from values [batch, tiles, values of a tile].
Result<void> Runs(EncoderWriter* writer, const Level& level, const Tiles& tiles, const Place& place,
                  std::span<const Profile> kinds, const Value& values) {
  FunctionBuilder& b = writer->builder();
  const quant::Reader reader = writer->Read(place.type);
  size_t at = 0;
  for (const Field& field : reader.fields()) {
    const auto* part = std::get_if<PhysicalType>(&field.content);
    if (part == nullptr || field.name.starts_with("padding")) continue;
    TESSERA_ASSIGN(Place inside, decoders::Inside(reader, place, field.name));
    const std::vector<uint64_t> dims = quant::DimsOf(*part);
    if (dims.size() != 1 || dims[0] > kinds.size() - at) {
      return reader.NotAProfile(field.name, "has other tiles than the profile");
    }
    if (dims[0] == 0) continue;
    const Level tile = TileLevel(level, tiles, kinds[at], std::move(inside));
    const Value run = b.Slice(values, 1, static_cast<int64_t>(at), static_cast<int64_t>(at + dims[0]));
    TESSERA_TRY(writer->Encode(tile, b.Reshape(run, {tile.place.batch, tile.values})));
    at += dims[0];
  }
  if (at != kinds.size()) return reader.NotAProfile("", "has other tiles than the profile");
  return {};
}

Result<void> Mixed(EncoderWriter* writer, const Level& level, const TilingProfile& tiling, const Tiles& tiles,
                   const Value& values) {
  FunctionBuilder& b = writer->builder();
  const std::span<const Profile> list = tiling.elem_quant;
  const int64_t batch = level.place.batch;
  const auto count = static_cast<int64_t>(tiles.count);
  const auto size = static_cast<int64_t>(tiles.values);
  const auto kinds = static_cast<int64_t>(list.size());
  const Value all = b.Reshape(values, {batch, count, size});
  if (kinds == count) return Runs(writer, level, tiles, level.place, list, all);
  const quant::Reader reader = writer->Read(level.place.type);
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(reader));
  TESSERA_ASSIGN(const Place cycle, decoders::Inside(reader, level.place, field));
  const int64_t whole = count / kinds * kinds;
  const Value cycles = b.Reshape(b.Slice(all, 1, 0, whole), {cycle.batch, kinds, size});
  TESSERA_TRY(Runs(writer, level, tiles, cycle, list, cycles));
  if (whole == count) return {};
  TESSERA_ASSIGN(const Place tail, decoders::Inside(reader, level.place, "tail"));
  return Runs(writer, level, tiles, tail, list.first(static_cast<size_t>(count - whole)),
              b.Slice(all, 1, whole, count));
}

}  // namespace

Result<void> EncodeTiling(EncoderWriter* writer, const Level& level, const Value& values) {
  const auto& tiling = std::get<TilingProfile>(level.profile->kind);
  Tiles tiles;
  const quant::Reader reader = writer->Read(level.place.type);
  if (auto problem = DivideTensor(tiling, level.shape, level.order, static_cast<uint64_t>(level.values), &tiles)) {
    return Fail(ErrorCode::kProfileShape, reader.type().Name(), problem->what, problem->fix);
  }
  const Value tiled = TileValues(&writer->builder(), level, tiling, tiles, values);
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(reader));
  const PhysicalType* part = reader.FindPart(field);
  if (part == nullptr || quant::Recoverer::Target(*part) < 0) return Merged(writer, level, tiling, tiles, tiled);
  if (tiling.elem_quant.size() > 1) return Mixed(writer, level, tiling, tiles, tiled);
  TESSERA_ASSIGN(Place place, decoders::Inside(reader, level.place, field));
  return writer->Encode(TileLevel(level, tiles, tiling.elem_quant.front(), std::move(place)), tiled);
}

}  // namespace tessera::encoders
