// Random quantization profiles for property tests: valid ones of every family, nested, together with a shape that they
// fit, and others with any values at all. The same seed gives the same profile on every machine. Not for programs; only
// tests link it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/quant/profile.h"
#include "tessera/quant/translate.h"
#include "tessera/types/testing/random_type.h"

namespace tessera {

// A profile, and what it takes to translate it. There are at most a few thousand values, and their number is often not
// a multiple of a byte, a group or 2.
struct RandomCase {
  Profile profile;
  std::vector<int64_t> shape;
  std::optional<uint64_t> outliers;  // for TranslateOptions; set where a Sparse leaves their number open

  TranslateOptions Options() const {
    TranslateOptions options;
    options.outliers = outliers;
    return options;
  }
};

// Valid: it translates. A tiling may be in a tiling, a sparse over one, a stored parameter a profile of its own.
RandomCase RandomProfile(RandomSource* random);

// Names, and element types that codes may be declared in, for a case that RandomProfile made.
Spelling RandomSpelling(RandomSource* random, const RandomCase& random_case);

// Any values in any fields, most of them wrong: numbers that are no element type, NaN scales, tiles that overflow,
// empty lists, families that are absent.
Profile RandomAnyProfile(RandomSource* random);

// Changes one field of a profile, of this one or of one inside it.
void MutateProfile(RandomSource* random, Profile* profile);

// Calls visit for the profile and all inside it: elem_quant, base_quant, stored parameters that are profiles.
void ForEachProfile(const Profile& profile, const std::function<void(const Profile&)>& visit);
void ForEachProfile(Profile* profile, const std::function<void(Profile*)>& visit);
// Calls visit for every stored parameter that stands in the profile itself.
void ForEachStored(const Profile& profile, const std::function<void(const Stored&)>& visit);

// True if the tiles differ in nothing but constant scales and zero points of one kind, so that they are one array.
bool IsMerged(const TilingProfile& tiling);

}  // namespace tessera
