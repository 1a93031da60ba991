// Known quantization schemes as rows of one table: those that the founding document describes, each as a profile in the
// notation with the names that its struct type has. A row says everything that a translation needs.
//
// The table is built once and never changes; any number of threads may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/notation.h"

namespace tessera {

// Data that belongs to a model and not to the scheme: a template parameter of the profile, and how many floats it
// takes.
struct SchemeData {
  std::string_view parameter;
  uint64_t values = 0;
};

struct Scheme {
  std::string_view id;                        // "q2_k"; unique
  std::string_view title;                     // "Q2_K of llama.cpp"
  std::string_view document;                  // the example of the founding document: "06_q2_k"
  std::string_view profile;                   // one profile in the notation
  std::vector<int64_t> shape = {4096, 4096};  // of the tensor that serves as the example
  Spelling spelling;
  std::vector<SchemeData> data = {};
};

// In the order of the founding document.
std::span<const Scheme> AllSchemes();
// nullptr if there is none.
const Scheme* FindScheme(std::string_view id);

// The profile of a row; `options.parameters` gives the data, and what is not given stays open.
// Errors: those of ParseProfiles.
Result<Profile> SchemeProfile(const Scheme& scheme, const NotationOptions& options = {});
// Translates it for a shape, with the row's names.
// Errors: those of ParseProfiles and TranslateProfile.
Result<std::vector<StructType>> TranslateScheme(const Scheme& scheme, std::span<const int64_t> shape,
                                                const NotationOptions& options = {});

}  // namespace tessera
