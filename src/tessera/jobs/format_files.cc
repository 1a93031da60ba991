#include "tessera/jobs/format_files.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "tessera/base/file.h"
#include "tessera/formats/catalog.h"

namespace tessera {

Result<std::vector<Format>> LoadFormatFiles(std::span<const std::string> paths, const Limits& limits) {
  std::vector<Format> formats;
  std::map<std::string, std::string> taken;
  for (const std::string& path : paths) {
    TESSERA_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    TESSERA_ASSIGN(Format format, ParseFormat(text, limits, path));
    for (std::string& name : NamesOf(format)) {
      const auto [at, added] = taken.try_emplace(std::move(name), path);
      if (added) continue;
      return Fail(ErrorCode::kFormatName, path,
                  fmt::format("the name {} is taken by {}", Quoted(at->first), at->second), "another name");
    }
    formats.push_back(std::move(format));
  }
  return formats;
}

}  // namespace tessera
