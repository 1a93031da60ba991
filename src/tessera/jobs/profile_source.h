// Quantization profiles from a text, and their translation to struct types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/jobs/source.h"
#include "tessera/quant/profile.h"
#include "tessera/types/notation.h"
#include "tessera/types/struct_type.h"

namespace tessera {

struct ProfileSource {
  std::vector<Profile> profiles;  // in file order, validated
  // Data that still has no value, which only a translation needs.
  std::vector<UnboundParameter> unbound;
};

// Reports everything that is wrong with the profiles, at `FILE: profiles[1].tiling.elem_quant[0].linear.bits` (without
// `profiles[1].` where there is but one); nullopt when something was reported. REQUIRES: kind is kProfileText.
std::optional<ProfileSource> LoadProfiles(const Source& source, Problems* problems);

struct TranslationOptions {
  std::string name;                  // of the declaration; "" for DeclarationName() of the file
  std::optional<uint64_t> outliers;  // TranslateOptions::outliers
  // Gives every root a decoder of this opset, in place of one that it has. Of struct types, too.
  std::optional<int64_t> decoder_opset;
  // The same for encoders.
  std::optional<int64_t> encoder_opset;
};

struct Translation {
  std::vector<StructType> types;  // of all profiles, one list
  std::vector<size_t> roots;      // one a profile
};

// Every profile for the source's shape. Of several profiles each has its number, from 1, behind the name. Nullopt when
// something was reported: no shape, data without a value, what TranslateProfile says.
std::optional<Translation> TranslateProfiles(const Source& source, const ProfileSource& loaded,
                                             const TranslationOptions& options, Problems* problems);

}  // namespace tessera
