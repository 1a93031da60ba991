// NumPy's .npy files as constants, for `--set NAME=@file.npy`.
// Source: the format description in NumPy's documentation (numpy.lib.format), versions 1.0 to 3.0.
#pragma once

#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/types/constant.h"

namespace tessera {

// Little-endian or single-byte types in C order. Errors: kFile*, kParameterData.
Result<Constant> LoadNpy(const std::filesystem::path& path);

}  // namespace tessera
