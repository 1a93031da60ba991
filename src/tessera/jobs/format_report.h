// The verb `formats`: the table of all formats, and everything about one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/jobs/layout.h"
#include "tessera/jobs/source.h"

namespace tessera {

// Every format, those of `options.format_files` first: name, bits per weight (computed from the type of its example),
// block, author, aliases, title. Data that belongs to a model is taken as zeros, which changes no size.
// Errors: those of LoadFormatFiles and DeclareFormat.
Result<std::string> FormatTable(const SourceOptions& options);
// The same as a JSON array of objects, with all fields of the header.
Result<std::string> FormatTableJson(const SourceOptions& options);

// One format: header, sizes, codec, profile, struct types, byte map and decoder, for the shape of the options or that
// of its example. Data that belongs to a model and is not set is taken as zeros, and a line says so.
// Errors: those of LoadFormatFiles, FindFormat and DeclareFormat; kArgument for a shape or an assignment.
Result<std::string> FormatText(const std::string& name, const SourceOptions& options, const LayoutOptions& layout = {});
Result<std::string> FormatJson(const std::string& name, const SourceOptions& options);

}  // namespace tessera
