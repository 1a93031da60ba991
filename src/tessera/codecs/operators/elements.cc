#include "tessera/codecs/operators/elements.h"

namespace tessera {

Result<Broadcast> Broadcast::Of(const NodeRun& run, const std::vector<const Tensor*>& inputs) {
  Broadcast broadcast;
  size_t rank = 0;
  for (const Tensor* input : inputs) rank = std::max(rank, input->Rank());
  broadcast.dims_.assign(rank, 1);
  for (const Tensor* input : inputs) {
    const size_t lead = rank - input->Rank();
    for (size_t i = 0; i < input->Rank(); ++i) {
      int64_t& dim = broadcast.dims_[lead + i];
      if (input->dims[i] == dim || input->dims[i] == 1) continue;
      if (dim != 1) {
        return run.Fail(fmt::format("{} does not broadcast to the other inputs", TypeText(input->type, input->dims)),
                        "equal dimensions, or 1");
      }
      dim = input->dims[i];
    }
  }
  for (const Tensor* input : inputs) {
    std::vector<uint64_t> strides(rank, 0);
    uint64_t step = 1;
    for (size_t i = input->Rank(); i-- > 0;) {
      if (input->dims[i] != 1) strides[rank - input->Rank() + i] = step;
      step *= static_cast<uint64_t>(input->dims[i]);
    }
    broadcast.strides_.push_back(std::move(strides));
  }
  return broadcast;
}

}  // namespace tessera
