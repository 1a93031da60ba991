// TilingQuantizationProto: tiles of a tensor, each with a profile.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tessera/codecs/native/builder.h"
#include "tessera/quant/families/family.h"

namespace tessera::native {
namespace {

// A parameter of the tiles that the tiling stores: one for each of them, or for the outermost tiling one for all.
struct TileParameter {
  uint64_t bit = 0;
  CodecPtr codec;  // of as many numbers as there are
  bool for_all = false;

  bool exists() const { return codec != nullptr; }
};

class TilingCodec final : public Codec {
 public:
  // The tiles in their order repeat `cycle`; the last ones, fewer than a cycle, lie at `tail`.
  struct Slot {
    size_t codec = 0;
    uint64_t bit = 0;  // in the cycle
  };
  struct Plan {
    Tiles tiles;
    std::vector<CodecPtr> codecs;
    std::vector<Slot> cycle;
    uint64_t cycle_bit = 0;     // of the first
    uint64_t cycle_stride = 0;  // in bits
    std::vector<Slot> tail;
    uint64_t tail_bit = 0;
    TileParameter scale;
    TileParameter zero_point;
    std::vector<uint64_t> inside;  // of a tile with axes: each of its values in the tensor, from that of its first
  };
  TilingCodec(Common common, Plan plan) : Codec(std::move(common)), plan_(std::move(plan)) {}

  double WantedScale(const Range& range) const override { return plan_.codecs.front()->WantedScale(range); }
  double WantedZeroPoint(const Range& range, double scale) const override {
    return plan_.codecs.front()->WantedZeroPoint(range, scale);
  }

 private:
  struct Tile {
    const Codec& codec;
    uint64_t bit;
  };
  Tile TileOf(uint64_t index) const {
    const uint64_t whole = plan_.tiles.count / plan_.cycle.size() * plan_.cycle.size();
    const bool last = index >= whole;
    const Slot& slot = last ? plan_.tail[index - whole] : plan_.cycle[index % plan_.cycle.size()];
    const uint64_t start = last ? plan_.tail_bit : plan_.cycle_bit + index / plan_.cycle.size() * plan_.cycle_stride;
    return {*plan_.codecs[slot.codec], start + slot.bit};
  }

  // The first value of a tile in the row-major tensor; of a flattened one in the family's order.
  uint64_t FirstOf(uint64_t index) const {
    const Tiles& tiles = plan_.tiles;
    if (tiles.counts.empty()) return index * tiles.values;
    std::vector<uint64_t> at(tiles.counts.size());
    for (size_t i = tiles.order.size(); i-- > 0;) {
      const size_t axis = tiles.order[i];
      at[axis] = index % tiles.counts[axis] * tiles.shape[axis];
      index /= tiles.counts[axis];
    }
    uint64_t first = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) first = first * shape()[axis] + at[axis];
    return first;
  }

  // The values of a tile, where they do not lie together in `scratch`.
  std::span<const double> Gather(std::span<const double> values, uint64_t index, std::vector<double>* scratch) const {
    const uint64_t first = FirstOf(index);
    if (plan_.inside.empty()) return values.subspan(first, plan_.tiles.values);
    for (size_t i = 0; i < plan_.inside.size(); ++i) (*scratch)[i] = values[first + plan_.inside[i]];
    return *scratch;
  }

  static tl::unexpected<Error> InTile(uint64_t index, Error error) {
    error.where = fmt::format("tiles[{}]{}{}", index, error.where.empty() ? "" : ".", error.where);
    return tl::unexpected<Error>(std::move(error));
  }

  Result<std::vector<double>> Read(const TileParameter& parameter, const Source& source) const {
    if (!parameter.exists()) return std::vector<double>();
    std::vector<double> numbers(parameter.codec->count());
    TESSERA_TRY(parameter.codec->Decode(source.At(parameter.bit), {}, numbers));
    return numbers;
  }

  // Stores what is wanted of each tile, or of all, and gives what was stored.
  template <typename Wanted>
  Result<std::vector<double>> Write(const TileParameter& parameter, std::span<const Range> ranges, const Sink& sink,
                                    Wanted wanted) const {
    std::vector<double> numbers(parameter.codec->count());
    for (size_t i = 0; i < numbers.size(); ++i) {
      Range range;
      if (parameter.for_all) {
        for (const Range& tile : ranges) range.Add(tile);
      } else {
        range = ranges[i];
      }
      numbers[i] = wanted(range, i);
    }
    TESSERA_TRY(parameter.codec->Encode(numbers, {}, sink.At(parameter.bit)));
    return Read(parameter, {sink.bytes, sink.bit});
  }

  // What tile `index` is given.
  static Given GivenTo(const Given& outer, uint64_t index, const std::vector<double>& scales,
                       const std::vector<double>& zero_points) {
    auto pick = [&](const std::vector<double>& numbers, double otherwise) {
      if (numbers.empty()) return otherwise;
      return numbers[numbers.size() == 1 ? 0 : index];
    };
    return {pick(scales, outer.scale), pick(zero_points, outer.zero_point)};
  }

  Result<void> DecodeOwn(const Source& source, const Given& given, std::span<double> values) const override {
    TESSERA_ASSIGN(const std::vector<double> scales, Read(plan_.scale, source));
    TESSERA_ASSIGN(const std::vector<double> zero_points, Read(plan_.zero_point, source));
    std::vector<double> scratch(plan_.inside.size());
    if (plan_.tiles.values == 0) return {};
    for (uint64_t index = 0; index < plan_.tiles.count; ++index) {
      const Tile tile = TileOf(index);
      const uint64_t first = FirstOf(index);
      const std::span<double> out =
          plan_.inside.empty() ? values.subspan(first, plan_.tiles.values) : std::span<double>(scratch);
      auto decoded = tile.codec.Decode(source.At(tile.bit), GivenTo(given, index, scales, zero_points), out);
      if (!decoded) return InTile(index, std::move(decoded).error());
      for (size_t i = 0; i < plan_.inside.size(); ++i) values[first + plan_.inside[i]] = scratch[i];
    }
    return {};
  }

  Result<Range> MeasureOwn(std::span<const double> values) const override {
    Range range;
    std::vector<double> scratch(plan_.inside.size());
    for (uint64_t index = 0; index < plan_.tiles.count && plan_.tiles.values > 0; ++index) {
      TESSERA_ASSIGN(const Range tile, TileOf(index).codec.Measure(Gather(values, index, &scratch)));
      range.Add(tile);
    }
    return range;
  }

  Result<void> EncodeOwn(std::span<const double> values, const Given& given, const Sink& sink) const override {
    std::vector<double> scratch(plan_.inside.size());
    std::vector<double> scales;
    std::vector<double> zero_points;
    if (plan_.scale.exists() || plan_.zero_point.exists()) {
      std::vector<Range> ranges(plan_.tiles.count);
      for (uint64_t index = 0; index < plan_.tiles.count; ++index) {
        TESSERA_ASSIGN(ranges[index], TileOf(index).codec.Measure(Gather(values, index, &scratch)));
      }
      const Codec& codec = *plan_.codecs.front();
      if (plan_.scale.exists()) {
        TESSERA_ASSIGN(scales, Write(plan_.scale, ranges, sink,
                                     [&](const Range& range, size_t) { return codec.WantedScale(range); }));
      }
      if (plan_.zero_point.exists()) {
        TESSERA_ASSIGN(zero_points, Write(plan_.zero_point, ranges, sink, [&](const Range& range, size_t i) {
                         return codec.WantedZeroPoint(range, GivenTo(given, i, scales, {}).scale);
                       }));
      }
    }
    for (uint64_t index = 0; index < plan_.tiles.count; ++index) {
      const Tile tile = TileOf(index);
      auto encoded = tile.codec.Encode(Gather(values, index, &scratch), GivenTo(given, index, scales, zero_points),
                                       sink.At(tile.bit));
      if (!encoded) return InTile(index, std::move(encoded).error());
    }
    return {};
  }

  Plan plan_;
};

// One array of the codes of all tiles, whose scales and zero points are constants.
Result<void> PlanMerged(Builder* builder, const Level& level, const TilingProfile& tiling, const Builder::Part& codes,
                        TilingCodec::Plan* plan) {
  const uint64_t count = std::max<uint64_t>(1, plan->tiles.count);
  const uint64_t bits = codes.count * codes.stride / count;
  for (const Profile& profile : tiling.elem_quant) {
    Level tile = Builder::TileLevel(plan->tiles, profile, level.type);
    tile.codes_bit = 0;
    TESSERA_ASSIGN(CodecPtr codec, builder->Build(tile));
    plan->cycle.push_back({plan->codecs.size(), plan->codecs.size() * bits});
    plan->codecs.push_back(std::move(codec));
  }
  plan->cycle_bit = codes.bit;
  plan->cycle_stride = bits * tiling.elem_quant.size();
  plan->tail_bit = plan->cycle_bit + plan->tiles.count / plan->cycle.size() * plan->cycle_stride;
  plan->tail = plan->cycle;
  return {};
}

// Runs of equal tiles, a field each.
Result<std::vector<TilingCodec::Slot>> SlotsOf(Builder* builder, int32_t type, std::span<const Profile> kinds,
                                               TilingCodec::Plan* plan) {
  std::vector<TilingCodec::Slot> slots;
  for (const Builder::Part& part : builder->Parts(type)) {
    if (part.target < 0 || part.count > kinds.size() - slots.size()) {
      return builder->NotAProfile(type, part.name, "has other tiles than the profile");
    }
    if (part.count == 0) continue;
    TESSERA_ASSIGN(CodecPtr codec, builder->Build(Builder::TileLevel(plan->tiles, kinds[slots.size()], part.target)));
    for (uint64_t i = 0; i < part.count; ++i) slots.push_back({plan->codecs.size(), part.bit + i * part.stride});
    plan->codecs.push_back(std::move(codec));
  }
  if (slots.size() != kinds.size()) return builder->NotAProfile(type, "", "has other tiles than the profile");
  return slots;
}

Result<void> PlanMixed(Builder* builder, const Level& level, const TilingProfile& tiling, const Builder::Part& codes,
                       TilingCodec::Plan* plan) {
  const std::span<const Profile> kinds = tiling.elem_quant;
  if (kinds.size() == plan->tiles.count) {
    TESSERA_ASSIGN(plan->cycle, SlotsOf(builder, level.type, kinds, plan));
    return {};
  }
  TESSERA_ASSIGN(plan->cycle, SlotsOf(builder, codes.target, kinds, plan));
  plan->cycle_bit = codes.bit;
  plan->cycle_stride = codes.stride;
  if (const size_t rest = plan->tiles.count % kinds.size(); rest != 0) {
    TESSERA_ASSIGN(const Builder::Part tail, builder->Find(level.type, "tail"));
    TESSERA_ASSIGN(plan->tail, SlotsOf(builder, tail.target, kinds.first(rest), plan));
    plan->tail_bit = tail.bit;
  }
  return {};
}

// The parameter of the family inside the tiles, if it has a stored one.
const Stored* StoredIn(const Profile& tile, bool zero_point) {
  if (const auto* sparse = std::get_if<SparseProfile>(&tile.kind)) return StoredIn(*sparse->base_quant, zero_point);
  if (const auto* linear = std::get_if<LinearProfile>(&tile.kind)) {
    return zero_point ? std::get_if<Stored>(&linear->zero_point) : std::get_if<Stored>(&linear->scale);
  }
  if (zero_point) return nullptr;
  if (const auto* codebook = std::get_if<CodebookProfile>(&tile.kind)) return std::get_if<Stored>(&codebook->scale);
  if (const auto* floats = std::get_if<FloatingPointProfile>(&tile.kind)) return std::get_if<Stored>(&floats->scale);
  return nullptr;
}

// The same through all tilings inside.
const Stored* StoredFurtherIn(const Profile& tile, bool zero_point) {
  if (const auto* sparse = std::get_if<SparseProfile>(&tile.kind)) {
    return StoredFurtherIn(*sparse->base_quant, zero_point);
  }
  const auto* tiling = std::get_if<TilingProfile>(&tile.kind);
  return tiling != nullptr ? StoredFurtherIn(tiling->elem_quant.front(), zero_point) : StoredIn(tile, zero_point);
}

Result<TileParameter> ParameterOf(Builder* builder, const Level& level, const TilingProfile& tiling, const Tiles& tiles,
                                  bool zero_point) {
  TileParameter parameter;
  const std::string_view name = zero_point ? "zero_point" : "scale";
  const Profile& tile = tiling.elem_quant.front();
  const Stored* stored = StoredIn(tile, zero_point);
  std::vector<uint64_t> shape = tiles.grid;
  const auto* profile = stored == nullptr ? nullptr : std::get_if<Box<Profile>>(&stored->type);
  if (profile == nullptr || stored->per != Stored::Per::kTile) {
    stored = level.in_tile ? nullptr : StoredFurtherIn(tile, zero_point);
    if (stored == nullptr || stored->per != Stored::Per::kTensor) return parameter;
    profile = std::get_if<Box<Profile>>(&stored->type);
    shape = {1};
    parameter.for_all = true;
  }
  TESSERA_ASSIGN(const Builder::Part part, builder->Find(level.type, name));
  parameter.bit = part.bit;
  if (profile != nullptr) {
    TESSERA_ASSIGN(parameter.codec, builder->Build(Builder::Plain(**profile, part.target, std::move(shape))));
  } else {
    parameter.codec = builder->Numbers(std::get<ElementType>(stored->type), shape);
  }
  return parameter;
}

}  // namespace

Result<CodecPtr> BuildTiling(Builder* builder, const Level& level) {
  const auto& tiling = std::get<TilingProfile>(level.profile->kind);
  TilingCodec::Plan plan;
  if (auto problem = DivideTensor(tiling, level.shape, level.order, level.values, &plan.tiles)) {
    return Fail(ErrorCode::kProfileShape, "tiling", problem->what, problem->fix);
  }
  TESSERA_ASSIGN(const Builder::Part codes, builder->Codes(level.type));
  if (codes.target < 0) {
    TESSERA_TRY(PlanMerged(builder, level, tiling, codes, &plan));
  } else if (tiling.elem_quant.size() > 1) {
    TESSERA_TRY(PlanMixed(builder, level, tiling, codes, &plan));
  } else {
    TESSERA_ASSIGN(CodecPtr codec,
                   builder->Build(Builder::TileLevel(plan.tiles, tiling.elem_quant.front(), codes.target)));
    plan.codecs.push_back(std::move(codec));
    plan.cycle = {{0, 0}};
    plan.cycle_bit = codes.bit;
    plan.cycle_stride = codes.stride;
    TESSERA_ASSIGN(plan.scale, ParameterOf(builder, level, tiling, plan.tiles, /*zero_point=*/false));
    TESSERA_ASSIGN(plan.zero_point, ParameterOf(builder, level, tiling, plan.tiles, /*zero_point=*/true));
  }
  std::vector<size_t> order = level.order;
  if (plan.tiles.counts.empty()) {
    if (!tiling.perm.empty()) order.assign(tiling.perm.begin(), tiling.perm.end());
  } else {
    std::iota(order.begin(), order.end(), size_t{0});
    plan.inside = {0};
    uint64_t stride = 1;
    std::vector<uint64_t> strides(level.shape.size());
    for (size_t axis = level.shape.size(); axis-- > 0; stride *= level.shape[axis]) strides[axis] = stride;
    // Row-major in the tile.
    for (size_t axis = 0; axis < level.shape.size(); ++axis) {
      std::vector<uint64_t> finer;
      for (uint64_t at : plan.inside) {
        for (uint64_t i = 0; i < plan.tiles.shape[axis]; ++i) finer.push_back(at + i * strides[axis]);
      }
      plan.inside = std::move(finer);
    }
  }
  return std::make_unique<TilingCodec>(builder->CommonOf(level, order), std::move(plan));
}

}  // namespace tessera::native
