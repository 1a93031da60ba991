#include "tessera/quant/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/quant/families/family.h"

namespace tessera {
namespace quant {

void Validator::Check(const Profile& profile, const Place& place) {
  if (depth_ >= limits_.depth) {
    Add(ErrorCode::kLimitDepth, place.path, fmt::format("profiles are nested more than {} deep", limits_.depth),
        "a flatter profile");
    return;
  }
  ++depth_;
  if (profile.data_type && !IsFixedWidth(*profile.data_type)) {
    Add(ErrorCode::kProfileValue, place.path.Field("data_type"),
        fmt::format("{} is no type of decoded values", Name(*profile.data_type)), "FLOAT, FLOAT16, ...");
  }
  for (size_t i = 0; i < profile.metadata.size(); ++i) {
    if (profile.metadata[i].key.starts_with(kReservedPrefix)) {
      Add(ErrorCode::kProfileMetadata, place.path.Index("metadata_props", i),
          fmt::format("{} is a key of the translation", Quoted(profile.metadata[i].key)),
          fmt::format("a key without {}", Quoted(kReservedPrefix)));
    }
  }
  if (profile.pre_rotation) ValidateRotation(*profile.pre_rotation, place.path.Field("pre_rotation"), this);
  if (profile.post_rotation) ValidateRotation(*profile.post_rotation, place.path.Field("post_rotation"), this);
  if (profile.kind.index() == 0) {
    Add(ErrorCode::kProfileKind, place.path, "has no family", "linear, codebook, floating_point, ...");
  } else {
    const Path path = place.path.Field(NamesOf(profile).field);
    const Place inside = {path, place.in_tile, place.only_tile, place.only_tiles};
    AllFamilies()[profile.kind.index() - 1]->validate(profile, inside, this);
  }
  --depth_;
}

void Validator::Range(const Path& path, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  Add(ErrorCode::kProfileValue, path, fmt::format("{} is out of range", value),
      high >= INT32_MAX ? fmt::format("{} or more", low) : fmt::format("{} to {}", low, high));
}

bool Validator::Numeric(const Path& path, ElementType type) {
  const ElementKind kind = Info(type).kind;
  if (kind == ElementKind::kFloat || kind == ElementKind::kSigned || kind == ElementKind::kUnsigned) return true;
  Add(ErrorCode::kProfileValue, path, fmt::format("{} holds no numbers", Name(type)), "an integer or float type");
  return false;
}

void Validator::Storage(const Path& path, ElementType type, int32_t bits) {
  if (!Numeric(path.Field("storage_type"), type)) return;
  const auto width = static_cast<int64_t>(BitWidth(type));
  if (Info(type).kind == ElementKind::kFloat && bits != width) {
    Add(ErrorCode::kProfileConflict, path.Field("bits"), fmt::format("{} bits of {}", bits, Name(type)),
        fmt::format("{}: a float has all its bits", width));
  } else if (bits < 1 || bits > width) {
    Add(ErrorCode::kProfileValue, path.Field("bits"), fmt::format("{} bits do not fit into {}", bits, Name(type)),
        fmt::format("1 to {}", width));
  }
}

void Validator::CheckScale(const Scale& scale, const Place& place, int32_t axis) {
  const Path path = place.path.Field("scale");
  if (const auto* stored = std::get_if<Stored>(&scale)) {
    CheckStored(*stored, path, place, axis);
  } else if (const auto* exponent = std::get_if<ScaleExponent>(&scale)) {
    // 2^-149 is the least FLOAT, 2^127 the greatest power of two.
    if (exponent->exponent < -149 || exponent->exponent > 127) {
      Add(ErrorCode::kProfileValue, path, fmt::format("2^{} is no FLOAT", exponent->exponent), "-149 to 127");
    }
  } else if (const auto* value = std::get_if<float>(&scale)) {
    if (*value == 0 || !std::isfinite(*value)) {
      Add(ErrorCode::kProfileValue, path, fmt::format("a scale of {}", *value), "a finite number that is not 0");
    }
  }
}

void Validator::CheckStored(const Stored& stored, const Path& path, const Place& place, int32_t axis) {
  const auto* profile = std::get_if<Box<Profile>>(&stored.type);
  if (profile == nullptr) {
    Numeric(path, std::get<ElementType>(stored.type));
  } else {
    const Path inside = path.Field("stored");
    Check(**profile, {inside});
  }
  if (stored.per == Stored::Per::kTile && !place.in_tile) {
    Add(ErrorCode::kProfileStored, path, "is stored per tile, and there are no tiles",
        "per=tensor, or a tiling around");
  } else if (stored.per == Stored::Per::kTile && profile != nullptr && !place.only_tile) {
    Add(ErrorCode::kProfileStored, path, "is quantized over tiles of several kinds",
        "an element type, or one profile in elem_quant");
  } else if (stored.per == Stored::Per::kTensor && place.in_tile && !place.only_tiles) {
    Add(ErrorCode::kProfileStored, path, "is stored per tensor below tiles of several kinds",
        "per=tile, or one profile in elem_quant");
  } else if (stored.per == Stored::Per::kChannel && axis < 0) {
    Add(ErrorCode::kProfileStored, path, "is stored per channel, and axis is -1", "an axis, or per=tensor");
  }
}

void Validator::Data(const Path& path, const FloatData& data, std::optional<int64_t> count) {
  if (!data.parameter.empty()) {
    if (!data.values.empty()) {
      Add(ErrorCode::kProfileConflict, path, fmt::format("is both data and the parameter {}", Quoted(data.parameter)),
          "one of them");
    }
    return;
  }
  if (count && static_cast<int64_t>(data.values.size()) != *count) {
    Add(ErrorCode::kProfileData, path, fmt::format("has {} values", data.values.size()), fmt::format("{}", *count));
  }
  auto bad = std::find_if(data.values.begin(), data.values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != data.values.end()) {
    Add(ErrorCode::kProfileData, path, fmt::format("value {} is not finite", bad - data.values.begin()),
        "finite numbers");
  }
}

std::span<const Family* const> AllFamilies() {
  static constexpr const Family* kFamilies[] = {
      &kLinearFamily,   &kCodebookFamily, &kFloatingPointFamily, &kSparseFamily,          &kLogFamily,
      &kFunctionFamily, &kTilingFamily,   &kCastFamily,          &kStructuredBlockFamily,
  };
  static_assert(std::size(kFamilies) == std::size(kFamilyNames));
  return kFamilies;
}

}  // namespace quant

void ValidateProfile(const Profile& profile, const Path& path, const Limits& limits, Problems* problems) {
  quant::Validator validator(limits, problems);
  validator.Check(profile, {path});
}

}  // namespace tessera
