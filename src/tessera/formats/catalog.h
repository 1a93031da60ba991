// The catalogue: every format that the library knows, a file of src/tessera/formats/catalog/ each. The files are
// compiled into the library; adding one is adding a file.
//
// Built on first use and never changed after; any number of threads may read it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/formats/format.h"

namespace tessera {

// One file of the catalogue: "q4_k" for q4_k.txt. A family's file is called as its name without `{block}`:
// int4_b.txt.
struct CatalogFile {
  std::string_view name;
  std::string_view text;
};

// By name. Their text is that of the source tree when the library was built.
std::span<const CatalogFile> CatalogFiles();

// The formats of these files, with families as they are written, sorted by name. What is wrong (a file that is not a
// format, or not called like it; a name or alias that two formats have) goes to `problems`, and is left out.
std::vector<Format> LoadCatalog(std::span<const CatalogFile> files, Problems* problems);

// The formats of the catalogue by name, a family as one format for each block size that it lists.
std::span<const Format> AllFormats();

// All names of a format in lower case, its own first; those of a family as they are written.
std::vector<std::string> NamesOf(const Format& format);

// The format that goes by a name or an alias, in any case; a family's for every block size, listed or not. Formats of
// `own` come before those of the catalogue.
// Errors: kFormatName, with the name that is nearest.
Result<Format> FindFormat(std::string_view name, std::span<const Format> own = {});

}  // namespace tessera
