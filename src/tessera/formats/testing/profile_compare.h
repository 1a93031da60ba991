// The comparison of two profiles, field by field.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/formats/testing/difference.h"
#include "tessera/quant/profile.h"

namespace tessera {

// Every field of the profile with its value as text: {"tiling.elem_quant[0].linear.bits", "4"}. Data is whole, fields
// that are absent or hold a default are there too, so that profiles with equal lists are equal.
std::vector<std::pair<std::string, std::string>> ProfileFields(const Profile& profile);

// Of kind kProfile, in the order of the document's fields, then those that only we have.
std::vector<Difference> CompareProfiles(const Profile& ours, const Profile& document);

}  // namespace tessera
