// Struct types from a file: a text in the notation, a model, or profiles, which are translated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/jobs/profile_source.h"
#include "tessera/jobs/source.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/type_table.h"

namespace tessera {

struct TypeSource {
  std::filesystem::path path;
  Limits limits;
  // The logical shape that was given.
  std::optional<std::vector<int64_t>> shape;
  TypeTable table;
  // Declarations that no other refers to: what the file is about.
  std::vector<size_t> roots;
  // Of a profile text: the profile of each root, resolved.
  std::vector<Profile> profiles;

  // The declaration called `name`, or the roots for "". Errors: kArgument, with the names that there are.
  Result<std::vector<size_t>> Select(std::string_view name) const;
  // What a declaration is the translation of, and its logical shape. Errors: those of RecoverProfile.
  Result<RecoveredProfile> ProfileOf(size_t index) const;
  // What stands in the text notation for these declarations: each after what it refers to.
  std::vector<StructType> Declarations(const std::vector<size_t>& indices) const;
};

// Binds, translates and checks. Nullopt when something was reported: kUnbound, what LoadProfiles and TranslateProfiles
// say, everything that the checker finds, kNoDecoder and what RecoverProfile says where decoders are asked for. Names
// and outliers are for profiles, and an error elsewhere.
std::optional<TypeSource> LoadTypes(const Source& source, const TranslationOptions& options, Problems* problems);

}  // namespace tessera
