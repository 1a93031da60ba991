#include "tessera/jobs/profile_source.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/quant/profile_text.h"
#include "tessera/quant/translate.h"
#include "tessera/quant/validate.h"
#include "tessera/types/closure.h"
#include "tessera/types/expression.h"

namespace tessera {
namespace {

Error Unbound(const std::vector<UnboundParameter>& unbound) {
  Error error = FailUnbound(unbound).value();
  error.fix.clear();
  for (const UnboundParameter& parameter : unbound) {
    error.fix += fmt::format("{}--set {}=@file.npy", error.fix.empty() ? "" : " ", parameter.name);
  }
  return error;
}

}  // namespace

std::optional<ProfileSource> LoadProfiles(const Source& source, Problems* problems) {
  const size_t before = problems->count();
  Result<ProfileText> parsed = ParseProfiles(source.text(), source.notation);
  if (!parsed) {
    problems->Add(std::move(parsed).error());
    return std::nullopt;
  }
  ProfileSource loaded;
  loaded.unbound = parsed->unbound;
  Result<std::vector<Profile>> profiles = std::move(*parsed).Concrete();
  if (!profiles) {
    problems->Add(source.At(std::move(profiles).error()));
    return std::nullopt;
  }
  loaded.profiles = *std::move(profiles);
  Problems found;
  for (size_t i = 0; i < loaded.profiles.size(); ++i) {
    Path root;
    Path path = loaded.profiles.size() == 1 ? root : root.Index("profiles", i);
    ValidateProfile(loaded.profiles[i], path, source.notation.limits, &found);
  }
  for (const Error& error : found.list()) problems->Add(source.At(error));
  if (problems->count() != before) return std::nullopt;
  return loaded;
}

std::optional<Translation> TranslateProfiles(const Source& source, const ProfileSource& loaded,
                                             const TranslationOptions& options, Problems* problems) {
  const size_t before = problems->count();
  if (!loaded.unbound.empty()) problems->Add(source.At(Unbound(loaded.unbound)));
  if (!source.notation.shape) {
    problems->Add(
        source.At({ErrorCode::kArgument, "", "a profile becomes a struct type for a logical shape, and none is given",
                   "--shape 4096x4096"}));
  }
  if (problems->count() != before) return std::nullopt;

  const std::string name = options.name.empty() ? DeclarationName(source.path) : options.name;
  Translation translation;
  for (size_t i = 0; i < loaded.profiles.size(); ++i) {
    const bool alone = loaded.profiles.size() == 1;
    TranslateOptions translate;
    translate.spelling.name = alone ? name : fmt::format("{}_{}", name, i + 1);
    translate.outliers = options.outliers;
    translate.limits = source.notation.limits;
    Result<std::vector<StructType>> types = TranslateProfile(loaded.profiles[i], *source.notation.shape, translate);
    if (!types) {
      Error error = std::move(types).error();
      if (!alone) error.where = fmt::format("profiles[{}]{}{}", i, error.where.empty() ? "" : ": ", error.where);
      problems->Add(source.At(std::move(error)));
      continue;
    }
    const auto offset = static_cast<int32_t>(translation.types.size());
    for (StructType& type : *types) {
      ForEachReference(&type.root, [&](TypeReference* reference) { reference->index += offset; });
      translation.types.push_back(std::move(type));
    }
    translation.roots.push_back(translation.types.size() - 1);
  }
  if (problems->count() != before) return std::nullopt;
  return translation;
}

}  // namespace tessera
