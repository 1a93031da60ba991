// Formats of a user: text files beside the catalogue, as `--format-file my.txt` gives them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/formats/format.h"
#include "tessera/types/limits.h"

namespace tessera {

// The formats of these files, in their order. Errors: those of reading and of ParseFormat; kFormatName where two of
// them have one name.
Result<std::vector<Format>> LoadFormatFiles(std::span<const std::string> paths, const Limits& limits = {});

}  // namespace tessera
