#include "tessera/formats/scheme.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "tessera/formats/schemes/tables.h"
#include "tessera/quant/profile_text.h"

namespace tessera {
namespace {

std::vector<Scheme> BuildTable() {
  std::vector<Scheme> table;
  for (auto* part :
       {schemes::Linear, schemes::SuperBlocks, schemes::FloatingPoint, schemes::Codebooks, schemes::Rearrangements}) {
    std::vector<Scheme> rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(table));
  }
  // The names of the document's examples begin with their number.
  std::stable_sort(table.begin(), table.end(), [](const Scheme& a, const Scheme& b) {
    return std::pair(a.document, a.id) < std::pair(b.document, b.id);
  });
  return table;
}

}  // namespace

std::span<const Scheme> AllSchemes() {
  static const std::vector<Scheme> table = BuildTable();
  return table;
}

const Scheme* FindScheme(std::string_view id) {
  for (const Scheme& scheme : AllSchemes()) {
    if (scheme.id == id) return &scheme;
  }
  return nullptr;
}

Result<Profile> SchemeProfile(const Scheme& scheme, const NotationOptions& options) {
  NotationOptions named = options;
  if (named.file_name.empty()) named.file_name = "scheme " + std::string(scheme.id);
  TESSERA_ASSIGN(ProfileText text, ParseProfiles(scheme.profile, named));
  TESSERA_ASSIGN(std::vector<Profile> profiles, std::move(text).Concrete());
  return std::move(profiles.front());
}

Result<std::vector<StructType>> TranslateScheme(const Scheme& scheme, std::span<const int64_t> shape,
                                                const NotationOptions& options) {
  TESSERA_ASSIGN(const Profile profile, SchemeProfile(scheme, options));
  TranslateOptions translate;
  translate.spelling = scheme.spelling;
  translate.limits = options.limits;
  return TranslateProfile(profile, shape, translate);
}

}  // namespace tessera
