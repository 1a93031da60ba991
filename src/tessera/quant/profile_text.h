// The founding document's notation of profiles, `QuantizationProto { linear: LinearUniformProto { ... } }`, as a
// language, with the extensions that profile.h marks. Its lexis, template parameters and expressions are those of the
// struct type notation (types/notation.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/types/notation.h"

namespace tessera {

struct ProfileText {
  std::vector<Profile> profiles;          // in file order; at least one
  std::vector<UnboundParameter> unbound;  // numbers and data without a value

  // The profiles, or kUnbound where a *number* has no value. Data without a value (`[...]`) stays open: such a profile
  // can be validated and printed.
  Result<std::vector<Profile>> Concrete() &&;
};

// `options.parameters` binds names: integers, literals, or data (Constants of any numeric type, rounded to FLOAT).
// `codebook_data: [...]` and `matrix: [...]` are parameters called codebook_data and matrix; `matrix_index: 3` takes
// its data from the parameter rotation_matrix_3 where there is one.
// Errors: kSyntax, kExpression, kLiteral, kParameterData, kLimitDepth, kLimitConstant, kUnbound, all with line and
// column.
Result<ProfileText> ParseProfiles(std::string_view text, const NotationOptions& options);

// Prints so that ParseProfiles gives an equal profile. Fields with the document's default are left out.
std::string PrintProfile(const Profile& profile);
std::string PrintProfiles(const std::vector<Profile>& profiles);
// `stored(FLOAT16, per=tile, at=before)`.
std::string PrintStored(const Stored& stored);

// True if the text's first word is QuantizationProto: a profile, not struct types.
bool IsProfileText(std::string_view text);

}  // namespace tessera
