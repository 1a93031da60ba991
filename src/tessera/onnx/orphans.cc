#include "tessera/onnx/orphans.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

void DataExtents::Add(const DataSegment& segment, uint64_t file_bytes) {
  File& file = files_[segment.location];
  file.bytes = file_bytes;
  if (segment.length > 0) file.extents.emplace_back(segment.offset, segment.offset + segment.length);
}

void DataExtents::Report(const Model& model, Problems* problems) const {
  constexpr uint64_t kLargestAlignment = 65'536;
  for (const auto& [location, file] : files_) {
    std::vector<std::pair<uint64_t, uint64_t>> extents = file.extents;
    std::sort(extents.begin(), extents.end());
    uint64_t end = 0;
    uint64_t orphaned = 0;
    uint64_t first = 0;
    auto gap = [&](uint64_t next, uint64_t padding_below) {
      if (next <= end || next - end < padding_below) return;
      if (orphaned == 0) first = end;
      orphaned += next - end;
    };
    for (const auto& [begin, extent_end] : extents) {
      uint64_t alignment = begin == 0 ? kLargestAlignment : std::min(begin & (~begin + 1), kLargestAlignment);
      gap(begin, alignment);
      end = std::max(end, extent_end);
    }
    gap(file.bytes, 1);
    if (orphaned > 0) {
      problems->Add(ErrorCode::kExternalOrphan, (model.folder() / location).string(),
                    fmt::format("{} of {} bytes belong to no value of this model, the first at offset {}", orphaned,
                                file.bytes, first),
                    "save the model again, which writes a data file without them");
    }
  }
}

}  // namespace tessera
