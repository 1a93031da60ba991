// Which bytes of the data files beside a model belong to its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/onnx/model.h"

namespace tessera {

class DataExtents {
 public:
  // A value's segment, known to lie inside its file of `file_bytes`.
  void Add(const DataSegment& segment, uint64_t file_bytes);

  // Reports bytes that belong to no value, as one kExternalOrphan a file. A gap in front of a value that is smaller
  // than the alignment of the value's offset (at most 65,536) is padding, not an orphan. No data is read.
  void Report(const Model& model, Problems* problems) const;

 private:
  struct File {
    uint64_t bytes = 0;
    std::vector<std::pair<uint64_t, uint64_t>> extents;  // begin, end
  };
  std::map<std::string, File> files_;
};

}  // namespace tessera
