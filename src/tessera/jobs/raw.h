// The verbs `decode` and `encode`: payloads and values as plain files, without a model around them.
#pragma once

#include <filesystem>
#include <string>

#include "tessera/base/error.h"
#include "tessera/jobs/source.h"

namespace tessera {

// Reads a payload and writes its values: float32, little-endian, row-major. The output is written under a temporary
// name and renamed, so that there is a whole file or none.
// Errors: those of LoadFormatFiles, FindFormat, reading and DecodeFormat; kArgument without a shape; kFileWrite.
Result<void> DecodeFile(const std::string& format, const SourceOptions& options, const std::filesystem::path& input,
                        const std::filesystem::path& output);

// The other way. `weights` is a file of as many float32 as a row has values, or "". Returns what the user should know;
// may be empty.
// Errors: as DecodeFile, and kArgument for files whose size does not fit.
Result<std::string> EncodeFile(const std::string& format, const SourceOptions& options,
                               const std::filesystem::path& weights, const std::filesystem::path& input,
                               const std::filesystem::path& output);

}  // namespace tessera
