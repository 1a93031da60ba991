// TilingQuantizationProto: tiles of a tensor, each with a profile.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/quant/tiles.h"

namespace tessera::quant {
namespace {

bool IsPermutation(const std::vector<int32_t>& perm) {
  std::vector<bool> seen(perm.size());
  for (int32_t axis : perm) {
    if (axis < 0 || static_cast<size_t>(axis) >= perm.size() || seen[axis]) return false;
    seen[axis] = true;
  }
  return true;
}

// The profile without what a merged tiling keeps one of for each tile.
Profile WithoutScale(const Profile& profile) {
  Profile rest = profile;
  if (auto* linear = std::get_if<LinearProfile>(&rest.kind)) {
    linear->scale = std::monostate();
    linear->zero_point = int64_t{0};
  } else if (auto* codebook = std::get_if<CodebookProfile>(&rest.kind)) {
    codebook->scale = std::monostate();
  }
  return rest;
}

const Scale* ScaleOf(const Profile& profile) {
  if (const auto* linear = std::get_if<LinearProfile>(&profile.kind)) return &linear->scale;
  if (const auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) return &codebook->scale;
  return nullptr;
}

// True if the tiles differ only in constant scales and zero points, so that they make one array.
bool CanMerge(const std::vector<Profile>& profiles) {
  if (profiles.size() < 2) return false;
  const Profile& first = profiles.front();
  if (first.data_type || first.doc_string || !first.metadata.empty() || first.pre_rotation || first.post_rotation) {
    return false;
  }
  const Scale* scale = ScaleOf(first);
  if (scale == nullptr || std::holds_alternative<Stored>(*scale)) return false;
  const Profile rest = WithoutScale(first);
  for (const Profile& profile : profiles) {
    if (profile.kind.index() != first.kind.index() || ScaleOf(profile)->index() != scale->index()) return false;
    const auto* linear = std::get_if<LinearProfile>(&profile.kind);
    if (linear != nullptr && std::holds_alternative<Stored>(linear->zero_point)) return false;
    if (!(WithoutScale(profile) == rest)) return false;
  }
  return true;
}

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& tiling = std::get<TilingProfile>(profile.kind);
  const Path& path = place.path;
  const size_t sizes = tiling.axes.empty() ? 1 : tiling.axes.size();
  if (tiling.tile_shape.size() != sizes) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("tile_shape"),
                   fmt::format("has {} sizes for {}", tiling.tile_shape.size(),
                               tiling.axes.empty() ? "the flattened tensor" : fmt::format("{} axes", sizes)),
                   fmt::format("{}", sizes));
  }
  for (size_t i = 0; i < tiling.tile_shape.size(); ++i) {
    validator->Range(path.Index("tile_shape", i), tiling.tile_shape[i], 0, INT64_MAX);
  }
  std::vector<int32_t> axes = tiling.axes;
  std::sort(axes.begin(), axes.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    validator->Range(path.Field("axes"), axes[i], 0, INT32_MAX);
    if (i > 0 && axes[i] == axes[i - 1]) {
      validator->Add(ErrorCode::kProfileValue, path.Field("axes"), fmt::format("has {} twice", axes[i]),
                     "each axis once");
    }
  }
  if (!IsPermutation(tiling.perm)) {
    validator->Add(ErrorCode::kProfileValue, path.Field("perm"),
                   fmt::format("[{}] is no permutation", fmt::join(tiling.perm, ", ")),
                   "each of 0 to the rank less one, once");
  }
  if (tiling.elem_quant.empty()) {
    validator->Add(ErrorCode::kProfileValue, path.Field("elem_quant"), "is empty", "a profile for the tiles");
  }
  const bool one = tiling.elem_quant.size() == 1;
  for (size_t i = 0; i < tiling.elem_quant.size(); ++i) {
    const Path tile_path = path.Index("elem_quant", i);
    const Place tile = {tile_path, true, one, one && (!place.in_tile || place.only_tiles)};
    validator->Check(tiling.elem_quant[i], tile);
  }
}

// True if that many codes end with a byte. Multiplication modulo 2^64 keeps the remainder by 8.
bool IsWholeBytes(uint64_t values, const LinearProfile& linear) {
  return values * static_cast<uint64_t>(linear.bits) % 8 == 0;
}

Level TileLevel(const Tiles& tiles, const Profile& profile, const Spelling& spelling, std::string name) {
  Level tile;
  tile.profile = &profile;
  tile.spelling = &spelling;
  tile.name = NameOr(spelling.name, name);
  tile.shape = tiles.shape;
  tile.order = tiles.order;
  tile.dims = tiles.dims;
  tile.values = tiles.values;
  tile.in_tile = true;
  tile.grid = tiles.grid;
  return tile;
}

std::vector<Field> TilingConstants(const TilingProfile& tiling) {
  std::vector<Field> fields = {ConstantField("tile_shape", ElementType::kInt64,
                                             {static_cast<int64_t>(tiling.tile_shape.size())}, tiling.tile_shape)};
  if (!tiling.axes.empty()) fields.push_back(IntsConstant("axes", tiling.axes));
  if (!tiling.perm.empty()) fields.push_back(IntsConstant("perm", tiling.perm));
  return fields;
}

std::string TileName(const Level& level, const Tiles& tiles) { return level.name + "_TILE_" + SizesName(tiles.shape); }

// ---- merged

Result<void> Merge(const TilingProfile& tiling, const Tiles& tiles, Level* level, Body* body) {
  const std::vector<Profile>& list = tiling.elem_quant;
  Spelling spelling;
  spelling.codes = level->spelling->codes;
  spelling.codebook = level->spelling->codebook;
  spelling.code_type = level->spelling->code_type;
  Level tile = TileLevel(tiles, list.front(), spelling, level->name);
  const auto* linear = std::get_if<LinearProfile>(&list.front().kind);
  // The tiles of one array follow each other without padding, so each has to be whole bytes; packed bytes always are.
  if (linear != nullptr && !spelling.code_type && !IsWholeBytes(tile.values, *linear)) {
    spelling.code_type = ElementType::kUint8;
  }
  TESSERA_TRY(linear != nullptr ? LinearBody(tile, tiles.grid, body) : CodebookBody(tile, tiles.grid, body));

  const auto count = static_cast<int64_t>(tiles.count);
  auto entry = [&](uint64_t i) -> const Profile& { return list[i % list.size()]; };
  if (std::holds_alternative<float>(*ScaleOf(list.front()))) {
    std::vector<float> scales;
    for (uint64_t i = 0; i < tiles.count; ++i) scales.push_back(std::get<float>(*ScaleOf(entry(i))));
    body->constants.push_back(FloatsConstant("scales", {count}, scales));
  } else if (std::holds_alternative<ScaleExponent>(*ScaleOf(list.front()))) {
    std::vector<int32_t> scales;
    for (uint64_t i = 0; i < tiles.count; ++i) {
      scales.push_back(std::get<ScaleExponent>(*ScaleOf(entry(i))).exponent);
    }
    body->constants.push_back(IntsConstant("scales", scales));
  }
  if (linear != nullptr) {
    std::vector<int64_t> zero_points;
    for (uint64_t i = 0; i < tiles.count; ++i) {
      zero_points.push_back(std::get<int64_t>(std::get<LinearProfile>(entry(i).kind).zero_point));
    }
    body->constants.push_back(ConstantField("zero_points", ElementType::kInt64, {count}, zero_points));
  }
  for (Field& field : TilingConstants(tiling)) body->constants.push_back(std::move(field));
  if (list.size() != tiles.count) {
    body->constants.push_back(IntConstant("elem_quant_count", static_cast<int64_t>(list.size())));
  }
  for (Field& field : linear != nullptr ? MergedConstants(*level, *linear)
                                        : MergedConstants(*level, std::get<CodebookProfile>(list.front().kind))) {
    body->constants.push_back(std::move(field));
  }
  return {};
}

// ---- several kinds of tiles

struct Run {
  size_t kind = 0;  // of the distinct profiles
  uint64_t count = 0;
};

std::vector<Run> RunsOf(const std::vector<size_t>& kinds, size_t count) {
  std::vector<Run> runs;
  for (size_t i = 0; i < count; ++i) {
    if (runs.empty() || runs.back().kind != kinds[i]) runs.push_back({kinds[i], 0});
    ++runs.back().count;
  }
  return runs;
}

std::vector<Field> RunFields(const std::vector<Run>& runs, const std::vector<int32_t>& declarations,
                             const std::string& name) {
  std::vector<Field> fields;
  for (size_t i = 0; i < runs.size(); ++i) {
    fields.push_back(PartField(fmt::format("{}_{}", name, i),
                               ArrayOf({TypeReference{declarations[runs[i].kind]}}, {runs[i].count})));
  }
  return fields;
}

Result<void> Mix(Translator* translator, const TilingProfile& tiling, const Tiles& tiles, Level* level, Body* body) {
  TESSERA_TRY(RefuseCodeType(*level));
  const std::vector<Profile>& list = tiling.elem_quant;
  std::vector<size_t> kinds;
  std::vector<const Profile*> distinct;
  std::unordered_map<std::string, size_t> seen;
  for (const Profile& profile : list) {
    auto [found, fresh] = seen.emplace(PrintProfile(profile), distinct.size());
    if (fresh) distinct.push_back(&profile);
    kinds.push_back(found->second);
  }
  std::vector<int32_t> declarations;
  for (size_t i = 0; i < distinct.size(); ++i) {
    const Spelling& spelling = level->NextPart();
    TESSERA_ASSIGN(Part part, translator->Translate(TileLevel(tiles, *distinct[i], spelling,
                                                              fmt::format("{}_{}", TileName(*level, tiles), i))));
    declarations.push_back(part.index);
  }
  const std::string name = NameOr(level->spelling->codes, "tiles");
  const std::vector<Run> cycle = RunsOf(kinds, kinds.size());
  if (list.size() == tiles.count) {
    body->codes = RunFields(cycle, declarations, name);
  } else {
    auto record = [&](const std::vector<Run>& runs, const char* suffix) {
      StructType type;
      type.name = level->name + suffix;
      type.root = {StructureType{RunFields(runs, declarations, name)}};
      return translator->Declare(std::move(type));
    };
    TESSERA_ASSIGN(int32_t whole, record(cycle, "_CYCLE"));
    body->codes.push_back(PartField(name, ArrayOf({TypeReference{whole}}, {tiles.count / list.size()})));
    if (const size_t rest = tiles.count % list.size(); rest != 0) {
      TESSERA_ASSIGN(int32_t tail, record(RunsOf(kinds, rest), "_TAIL"));
      body->codes.push_back(PartField("tail", {TypeReference{tail}}));
    }
  }
  body->constants = TilingConstants(tiling);
  // Also where it is the number of tiles: it tells these fields from one array of tiles that is called `tiles_0`.
  body->constants.push_back(IntConstant("elem_quant_count", static_cast<int64_t>(list.size())));
  return {};
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& tiling = std::get<TilingProfile>(level->profile->kind);
  Tiles tiles;
  if (auto problem = DivideTensor(tiling, level->shape, level->order, level->values, &tiles)) {
    return ShapeError(*level, std::move(problem->what), std::move(problem->fix));
  }
  const size_t entries = tiling.elem_quant.size();
  if (entries > 1 && entries > tiles.count) {
    return ShapeError(*level, fmt::format("elem_quant has {} entries for {} tiles", entries, tiles.count),
                      "at most one for each tile");
  }
  Body body;
  if (entries > 1) {
    // A merged tiling has a constant for each tile.
    if (CanMerge(tiling.elem_quant)) {
      if (tiles.count > translator->options().limits.constant_bytes / 8) {
        return Fail(ErrorCode::kLimitConstant, level->name, "a scale and zero point for each tile pass the limit",
                    fmt::format("at most {} bytes", translator->options().limits.constant_bytes));
      }
      TESSERA_TRY(Merge(tiling, tiles, level, &body));
    } else {
      TESSERA_TRY(Mix(translator, tiling, tiles, level, &body));
    }
    return body;
  }
  TESSERA_TRY(RefuseCodeType(*level));
  const Spelling& spelling = level->NextPart();
  TESSERA_ASSIGN(Part part,
                 translator->Translate(TileLevel(tiles, tiling.elem_quant.front(), spelling, TileName(*level, tiles))));
  for (Outward& outward : part.outward) {
    if (outward.to_root && level->in_tile)
      body.outward.push_back(std::move(outward));
    else
      (outward.at == Stored::At::kBefore ? body.before : body.after).push_back(std::move(outward.field));
  }
  body.codes.push_back(
      PartField(NameOr(level->spelling->codes, "tiles"), ArrayOf({TypeReference{part.index}}, tiles.grid)));
  body.constants = TilingConstants(tiling);
  return body;
}

// ---- back

bool Recognizes(const Recoverer&, const Reader& reader) { return reader.Has("tile_shape"); }

// A declaration says in a few bytes that tiles repeat; the list of their profiles holds each, with its codebooks.
Result<void> ChargeList(Recoverer* recoverer, const Reader& reader, uint64_t entries, uint64_t entry_bytes) {
  return recoverer->Charge(CheckedMul(entries, entry_bytes).value_or(UINT64_MAX), reader);
}

Result<void> SplitMerged(Recoverer* recoverer, const Reader& reader, const Tiles& tiles, TilingProfile* tiling,
                         Spelling* spelling) {
  const Field* codes = reader.Codes();
  const auto& type = std::get<PhysicalType>(codes->content);
  Profile tile;
  const bool is_codebook = reader.Has("num_codebooks");
  if (is_codebook) {
    TESSERA_ASSIGN(tile.kind, ReadCodebookConstants(reader, spelling));
    spelling->codes = UnlessRule(codes->name, "indices");
  } else {
    TESSERA_ASSIGN(LinearProfile linear, ReadLinearConstants(reader));
    spelling->codes = UnlessRule(codes->name, "values");
    const bool native =
        IsWholeBytes(tiles.values, linear) && static_cast<int64_t>(BitWidth(linear.storage_type)) == linear.bits;
    spelling->code_type = CodeTypeUnlessRule(type, native ? linear.storage_type : ElementType::kUint8);
    tile.kind = std::move(linear);
  }
  TESSERA_ASSIGN(int32_t entries, reader.IntOrZero("elem_quant_count"));
  const uint64_t count = entries > 0 ? static_cast<uint64_t>(entries) : tiles.count;
  const Constant* scales = reader.FindConstant("scales");
  std::vector<float> floats;
  std::vector<int32_t> exponents;
  if (scales != nullptr && scales->type == ElementType::kFloat) {
    TESSERA_ASSIGN(floats, reader.Floats("scales"));
  } else if (scales != nullptr) {
    TESSERA_ASSIGN(exponents, reader.Ints("scales"));
  }
  std::vector<int64_t> zero_points;
  if (!is_codebook) {
    TESSERA_ASSIGN(zero_points, reader.Integers("zero_points", ElementType::kInt64));
  }
  if ((scales != nullptr && count > std::max(floats.size(), exponents.size())) ||
      (!is_codebook && count > zero_points.size())) {
    return reader.NotAProfile("scales", "has fewer entries than there are tiles");
  }
  TESSERA_TRY(ChargeList(recoverer, reader, count, ProfileBytes(tile)));
  for (uint64_t i = 0; i < count; ++i) {
    Profile profile = tile;
    Scale scale;
    if (!floats.empty()) scale = floats[i];
    if (!exponents.empty()) scale = ScaleExponent{exponents[i]};
    if (auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) {
      codebook->scale = scale;
    } else {
      auto& linear = std::get<LinearProfile>(profile.kind);
      linear.scale = scale;
      linear.zero_point = zero_points[i];
    }
    tiling->elem_quant.push_back(std::move(profile));
  }
  return {};
}

Result<void> SplitMixed(Recoverer* recoverer, const Reader& reader, const ReadLevel& tile, const std::string& tile_name,
                        const Reader& record, size_t entries, TilingProfile* tiling, Spelling* spelling) {
  struct Known {
    Profile profile;
    uint64_t bytes = 0;
  };
  std::unordered_map<int32_t, Known> known;
  for (const Field& field : record.fields()) {
    const auto* part = std::get_if<PhysicalType>(&field.content);
    if (part == nullptr || field.name.starts_with("padding")) continue;
    const int32_t target = Recoverer::Target(*part);
    const std::vector<uint64_t> dims = DimsOf(*part);
    if (target < 0 || dims.size() != 1) return reader.NotAProfile(field.name, "is no array of tiles");
    auto found = known.find(target);
    const bool fresh = found == known.end();
    if (fresh) {
      TESSERA_ASSIGN(ReadBack back, recoverer->Recover(target, tile, fmt::format("{}_{}", tile_name, known.size())));
      spelling->parts.push_back(std::move(back.spelling));
      const uint64_t bytes = ProfileBytes(back.profile);
      found = known.emplace(target, Known{std::move(back.profile), bytes}).first;
    }
    if (dims[0] > entries - tiling->elem_quant.size()) {
      return reader.NotAProfile(field.name, "has more tiles than elem_quant has entries");
    }
    // The first of a kind has been counted where it was read.
    const uint64_t more = dims[0] - (fresh && dims[0] > 0 ? 1 : 0);
    TESSERA_TRY(ChargeList(recoverer, reader, more, found->second.bytes));
    tiling->elem_quant.insert(tiling->elem_quant.end(), dims[0], found->second.profile);
  }
  if (tiling->elem_quant.size() != entries) return reader.NotAProfile("elem_quant_count", "differs from the tiles");
  return {};
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel& level, const std::string& name) {
  ReadBack back;
  TilingProfile tiling;
  TESSERA_ASSIGN(tiling.tile_shape, reader.Integers("tile_shape", ElementType::kInt64));
  TESSERA_ASSIGN(tiling.axes, reader.Ints("axes"));
  TESSERA_ASSIGN(tiling.perm, reader.Ints("perm"));
  Tiles tiles;
  const size_t sizes = tiling.axes.empty() ? 1 : tiling.axes.size();
  const bool negative =
      std::any_of(tiling.tile_shape.begin(), tiling.tile_shape.end(), [](int64_t s) { return s < 0; }) ||
      std::any_of(tiling.axes.begin(), tiling.axes.end(), [](int32_t a) { return a < 0; });
  if (tiling.tile_shape.size() != sizes || negative || !IsPermutation(tiling.perm)) {
    return reader.NotAProfile("tile_shape", "tile_shape, axes and perm do not fit together");
  }
  std::optional<uint64_t> values = CheckedProduct(level.shape);
  if (!values) return reader.NotAProfile("tile_shape", "the tensor has too many values");
  if (auto problem = DivideTensor(tiling, level.shape, level.order, *values, &tiles)) {
    return Fail(ErrorCode::kProfileShape, reader.type().Name(), problem->what, problem->fix);
  }
  ReadLevel tile = level;
  tile.shape = tiles.shape;
  tile.order = tiles.order;
  tile.in_tile = true;
  tile.tiling = &reader;
  tile.root = level.in_tile ? level.root : &reader;
  tile.grid = tiles.grid;
  const std::string tile_name = name + "_TILE_" + SizesName(tiles.shape);

  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("tiles", "is missing");
  const auto& type = std::get<PhysicalType>(codes->content);
  const int32_t target = Recoverer::Target(type);
  TESSERA_ASSIGN(int32_t entries, reader.IntOrZero("elem_quant_count"));
  if (target < 0) {
    TESSERA_TRY(SplitMerged(recoverer, reader, tiles, &tiling, &back.spelling));
  } else if (entries > 0) {
    const bool cycles = static_cast<uint64_t>(entries) != tiles.count;
    std::string tiles_name = codes->name;
    if (!cycles) {
      if (!tiles_name.ends_with("_0"))
        return reader.NotAProfile(tiles_name, "is not the first of several kinds of tiles");
      tiles_name.resize(tiles_name.size() - 2);
    }
    back.spelling.codes = UnlessRule(tiles_name, "tiles");
    TESSERA_TRY(SplitMixed(recoverer, reader, tile, tile_name, cycles ? recoverer->Read(target) : reader,
                           static_cast<size_t>(entries), &tiling, &back.spelling));
  } else {
    back.spelling.codes = UnlessRule(codes->name, "tiles");
    TESSERA_ASSIGN(ReadBack inner, recoverer->Recover(target, tile, tile_name));
    tiling.elem_quant.push_back(std::move(inner.profile));
    back.spelling.parts.push_back(std::move(inner.spelling));
  }
  back.profile.kind = std::move(tiling);
  return back;
}

}  // namespace

const Family kTilingFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
