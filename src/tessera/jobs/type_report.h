// The verbs `type` and `layout`: what a format, or a file of profiles or struct types, declares, in one of several
// forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tessera/base/error.h"
#include "tessera/jobs/layout.h"
#include "tessera/jobs/type_source.h"

namespace tessera {

enum class TypeForm : uint8_t {
  kStruct,      // the declarations, in the notation of struct types
  kProfile,     // the profiles, in their notation; as they are written where there is no shape, else resolved
  kLayout,      // LayoutText of each
  kLayoutJson,  // LayoutJson of each
  kJson,        // all of it: an object, or an array of objects where there are several declarations
};

struct TypeReportOptions {
  SourceOptions source;
  TranslationOptions translation;
  LayoutOptions layout;
  std::string type;  // only this declaration; "" for those that no other refers to
};

// `path` is a file or the name of a format. `note`, where it is given, gets what the user should know besides.
// Text that ends in a new line; nullopt when something was reported. Struct types that are no translation of a profile
// are an error for kProfile; kJson says why instead of the profile.
std::optional<std::string> TypeReport(const std::filesystem::path& path, TypeForm form,
                                      const TypeReportOptions& options, Problems* problems,
                                      std::string* note = nullptr);

}  // namespace tessera
