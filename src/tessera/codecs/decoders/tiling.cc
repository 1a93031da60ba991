// TilingQuantizationProto: tiles, decoded all at once and put where they belong.
#include <fmt/format.h>

#include <algorithm>

#include "tessera/codecs/decoders/decoder_writer.h"
#include "tessera/quant/tiles.h"

namespace tessera::decoders {
namespace {

// One array of codes, and a constant scale and zero point for each tile.
Result<Value> Merged(DecoderWriter* writer, const Level& level, const TilingProfile& tiling, const Tiles& tiles) {
  FunctionBuilder& b = writer->builder();
  const auto count = static_cast<int64_t>(tiles.count);
  const Profile& first = tiling.elem_quant.front();
  Place place = level.place;
  place.batch *= count;
  const Level tile = TileLevel(level, tiles, first, place);
  const auto* linear = std::get_if<LinearProfile>(&first.kind);
  TESSERA_ASSIGN(Value values, linear != nullptr ? LinearCodes(writer, tile) : CodebookSum(writer, tile));
  values = b.Reshape(values, {level.place.batch, count, tile.values});
  const bool shifted =
      linear != nullptr && std::any_of(tiling.elem_quant.begin(), tiling.elem_quant.end(), [](const Profile& p) {
        return std::get<int64_t>(std::get<LinearProfile>(p.kind).zero_point) != 0;
      });
  if (shifted) {
    TESSERA_ASSIGN(Value zero_points, writer->Parameter(level.place, "zero_points"));
    values = b.Sub(values, b.Reshape(zero_points, {1, count, 1}));
  }
  if (writer->Read(level.place.type).Has("scales")) {
    TESSERA_ASSIGN(Value scales, writer->Field(level.place, "scales"));
    scales = scales.type == ElementType::kInt32 ? b.PowerOfTwo(scales, writer->compute())
                                                : b.Cast(scales, writer->compute());
    values = b.Mul(values, b.Reshape(scales, {1, count, 1}));
  }
  return b.Reshape(values, {level.place.batch * count, tile.values});
}

// The runs of equal tiles in a declaration: [batch, tiles, values of a tile]. `kinds` is the list from its start.
Result<Value> Runs(DecoderWriter* writer, const Level& level, const Tiles& tiles, const Place& place,
                   std::span<const Profile> kinds) {
  FunctionBuilder& b = writer->builder();
  const quant::Reader reader = writer->Read(place.type);
  std::vector<Value> runs;
  size_t at = 0;
  for (const Field& field : reader.fields()) {
    const auto* part = std::get_if<PhysicalType>(&field.content);
    if (part == nullptr || field.name.starts_with("padding")) continue;
    TESSERA_ASSIGN(Place inside, writer->Inside(place, field.name));
    const std::vector<uint64_t> dims = quant::DimsOf(*part);
    if (dims.size() != 1 || dims[0] > kinds.size() - at) {
      return reader.NotAProfile(field.name, "has other tiles than the profile");
    }
    if (dims[0] == 0) continue;
    const Level tile = TileLevel(level, tiles, kinds[at], std::move(inside));
    TESSERA_ASSIGN(Value values, writer->Decode(tile));
    runs.push_back(b.Reshape(values, {place.batch, static_cast<int64_t>(dims[0]), tile.values}));
    at += dims[0];
  }
  if (at != kinds.size()) return reader.NotAProfile("", "has other tiles than the profile");
  return b.Concat(runs, 1);
}

Result<Value> Mixed(DecoderWriter* writer, const Level& level, const TilingProfile& tiling, const Tiles& tiles) {
  FunctionBuilder& b = writer->builder();
  const std::span<const Profile> list = tiling.elem_quant;
  const int64_t batch = level.place.batch;
  const auto values = static_cast<int64_t>(tiles.values);
  if (list.size() == tiles.count) {
    TESSERA_ASSIGN(Value all, Runs(writer, level, tiles, level.place, list));
    return b.Reshape(all, {batch * static_cast<int64_t>(tiles.count), values});
  }
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  TESSERA_ASSIGN(Place cycle, writer->Inside(level.place, field));
  TESSERA_ASSIGN(Value all, Runs(writer, level, tiles, cycle, list));
  const auto whole = static_cast<int64_t>(tiles.count / list.size() * list.size());
  all = b.Reshape(all, {batch, whole, values});
  if (const size_t rest = tiles.count % list.size(); rest != 0) {
    TESSERA_ASSIGN(Place tail, writer->Inside(level.place, "tail"));
    TESSERA_ASSIGN(Value last, Runs(writer, level, tiles, tail, list.first(rest)));
    all = b.Concat({all, last}, 1);
  }
  return b.Reshape(all, {batch * static_cast<int64_t>(tiles.count), values});
}

}  // namespace

Result<Value> DecodeTiling(DecoderWriter* writer, const Level& level) {
  const auto& tiling = std::get<TilingProfile>(level.profile->kind);
  Tiles tiles;
  const quant::Reader reader = writer->Read(level.place.type);
  if (auto problem = DivideTensor(tiling, level.shape, level.order, static_cast<uint64_t>(level.values), &tiles)) {
    return Fail(ErrorCode::kProfileShape, reader.type().Name(), problem->what, problem->fix);
  }
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  const PhysicalType* part = reader.FindPart(field);
  Value values;
  if (part == nullptr || quant::Recoverer::Target(*part) < 0) {
    TESSERA_ASSIGN(values, Merged(writer, level, tiling, tiles));
  } else if (tiling.elem_quant.size() > 1) {
    TESSERA_ASSIGN(values, Mixed(writer, level, tiling, tiles));
  } else {
    TESSERA_ASSIGN(Place place, writer->Inside(level.place, field));
    TESSERA_ASSIGN(values, writer->Decode(TileLevel(level, tiles, tiling.elem_quant.front(), std::move(place))));
  }
  FunctionBuilder& b = writer->builder();
  const TileOrder order = TileOrderOf(level, tiling, tiles);
  return b.Reshape(b.Transpose(b.Reshape(values, order.dims), order.perm), {level.place.batch, level.values});
}

}  // namespace tessera::decoders
