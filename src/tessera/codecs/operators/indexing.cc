// Operators that take and put elements by index. An index that is none is an error, which is how a code outside a
// codebook is found.
#include <array>

#include "tessera/base/checked.h"
#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

using Dims = std::vector<int64_t>;

// -size..size-1 to 0..size-1.
Result<size_t> Place(const NodeRun& run, int64_t index, int64_t size, uint64_t position) {
  if (index < -size || index >= size) {
    return run.Fail(fmt::format("index {}, number {} of the indices, is none of {}", index, position, size),
                    size == 0 ? "no index" : fmt::format("{} to {}", -size, size - 1));
  }
  return static_cast<size_t>(index < 0 ? index + size : index);
}

Result<Tensor> Gather(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor& indices = run.Input(1);
  TESSERA_ASSIGN(const size_t axis, run.Axis("axis", 0, x.Rank()));
  Dims dims(x.dims.begin(), x.dims.begin() + static_cast<ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(axis) + 1, x.dims.end());
  TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
  const int64_t size = x.dims[axis];
  const auto rows = static_cast<size_t>(Product(x.dims, 0, axis));
  const size_t inner = static_cast<size_t>(Product(x.dims, axis + 1, x.Rank())) * UnpackedBytes(x.type);
  const uint64_t count = indices.Count();
  for (uint64_t i = 0; i < count; ++i) {
    TESSERA_ASSIGN(const size_t at, Place(run, indices.Integer(i), size, i));
    for (size_t row = 0; row < rows && inner > 0; ++row) {
      std::memcpy(result.bytes.data() + (row * count + i) * inner,
                  x.bytes.data() + (row * static_cast<size_t>(size) + at) * inner, inner);
    }
  }
  return result;
}

// Calls f(element of `indices`, element of a tensor of `dims`) with the coordinate along the axis replaced by the
// index.
template <typename F>
Result<void> ForEachElement(const NodeRun& run, const Tensor& indices, const Dims& dims, size_t axis, F f) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  std::vector<int64_t> counter(dims.size(), 0);
  for (uint64_t i = 0; i < indices.Count(); ++i) {
    TESSERA_ASSIGN(const size_t at, Place(run, indices.Integer(i), dims[axis], i));
    int64_t element = 0;
    for (size_t k = 0; k < dims.size(); ++k) {
      element += (k == axis ? static_cast<int64_t>(at) : counter[k]) * strides[k];
    }
    f(i, static_cast<uint64_t>(element));
    for (size_t k = dims.size(); k-- > 0;) {
      if (++counter[k] < indices.dims[k]) break;
      counter[k] = 0;
    }
  }
  return {};
}

Result<size_t> ElementsAxis(const NodeRun& run, const Tensor& x, const Tensor& indices) {
  if (indices.Rank() != x.Rank()) {
    return run.Fail(fmt::format("the indices have {} dimensions, the input {}", indices.Rank(), x.Rank()), "as many");
  }
  TESSERA_ASSIGN(const size_t axis, run.Axis("axis", 0, x.Rank()));
  for (size_t i = 0; i < x.Rank(); ++i) {
    if (i != axis && indices.dims[i] > x.dims[i]) {
      return run.Fail(fmt::format("the indices have {} along axis {}, the input {}", indices.dims[i], i, x.dims[i]),
                      "no more than the input");
    }
  }
  return axis;
}

Result<Tensor> GatherElements(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor& indices = run.Input(1);
  TESSERA_ASSIGN(const size_t axis, ElementsAxis(run, x, indices));
  TESSERA_ASSIGN(Tensor result, run.New(x.type, indices.dims));
  const size_t width = UnpackedBytes(x.type);
  TESSERA_TRY(ForEachElement(run, indices, x.dims, axis, [&](uint64_t to, uint64_t from) {
    std::memcpy(result.bytes.data() + to * width, x.bytes.data() + from * width, width);
  }));
  return result;
}

Result<Tensor> ScatterElements(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor& indices = run.Input(1);
  const Tensor& updates = run.Input(2);
  TESSERA_ASSIGN(const size_t axis, ElementsAxis(run, x, indices));
  if (updates.dims != indices.dims) {
    return run.Fail("the updates are " + TypeText(updates.type, updates.dims), "of the indices' shape");
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, x.dims));
  result.bytes = x.bytes;
  const size_t width = UnpackedBytes(x.type);
  TESSERA_TRY(ForEachElement(run, indices, x.dims, axis, [&](uint64_t from, uint64_t to) {
    std::memcpy(result.bytes.data() + to * width, updates.bytes.data() + from * width, width);
  }));
  return result;
}

// Tuples of indices into the first axes of x, behind `batch` axes that both have.
struct Tuples {
  size_t batch = 0;
  size_t length = 0;      // of a tuple
  uint64_t count = 0;     // of tuples
  uint64_t in_batch = 0;  // of those in one batch
  size_t slice = 0;       // elements that one tuple stands for
  Dims outer;             // dims of `indices` without the tuples
};

Result<Tuples> TuplesOf(const NodeRun& run, const Tensor& x, const Tensor& indices, size_t batch) {
  Tuples tuples;
  if (indices.Rank() == 0 || x.Rank() == 0) return run.Fail("an input is a scalar", "at least one dimension");
  const int64_t length = indices.dims.back();
  if (batch >= std::min(x.Rank(), indices.Rank()) || length < 1 || length > static_cast<int64_t>(x.Rank() - batch)) {
    return run.Fail(
        fmt::format("tuples of {} indices into {} with {} batch dimensions", length, TypeText(x.type, x.dims), batch),
        "at least one index, and at most one for each dimension");
  }
  for (size_t i = 0; i < batch; ++i) {
    if (x.dims[i] != indices.dims[i]) return run.Fail(fmt::format("the inputs differ in batch axis {}", i), "equal");
  }
  tuples.batch = batch;
  tuples.length = static_cast<size_t>(length);
  tuples.outer.assign(indices.dims.begin(), indices.dims.end() - 1);
  tuples.count = static_cast<uint64_t>(Product(indices.dims, 0, indices.Rank() - 1));
  tuples.in_batch = static_cast<uint64_t>(Product(indices.dims, batch, indices.Rank() - 1));
  tuples.slice = static_cast<size_t>(Product(x.dims, batch + tuples.length, x.Rank()));
  return tuples;
}

// The first element of x that tuple `t` stands for, in units of slices.
Result<uint64_t> SliceOf(const NodeRun& run, const Tensor& x, const Tensor& indices, const Tuples& tuples, uint64_t t) {
  uint64_t at = t / std::max<uint64_t>(1, tuples.in_batch);
  for (size_t k = 0; k < tuples.length; ++k) {
    const int64_t size = x.dims[tuples.batch + k];
    const uint64_t position = t * tuples.length + k;
    TESSERA_ASSIGN(const size_t place, Place(run, indices.Integer(position), size, position));
    at = at * static_cast<uint64_t>(size) + place;
  }
  return at;
}

Result<Tensor> GatherNd(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor& indices = run.Input(1);
  TESSERA_ASSIGN(const int64_t batch, run.Int("batch_dims", 0));
  if (batch < 0) return run.Fail(fmt::format("batch_dims is {}", batch), "0 or more");
  TESSERA_ASSIGN(const Tuples tuples, TuplesOf(run, x, indices, static_cast<size_t>(batch)));
  Dims dims = tuples.outer;
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(tuples.batch + tuples.length), x.dims.end());
  TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
  const size_t bytes = tuples.slice * UnpackedBytes(x.type);
  for (uint64_t t = 0; t < tuples.count; ++t) {
    TESSERA_ASSIGN(const uint64_t at, SliceOf(run, x, indices, tuples, t));
    if (bytes > 0) std::memcpy(result.bytes.data() + t * bytes, x.bytes.data() + at * bytes, bytes);
  }
  return result;
}

Result<Tensor> ScatterNd(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const Tensor& indices = run.Input(1);
  const Tensor& updates = run.Input(2);
  TESSERA_ASSIGN(const Tuples tuples, TuplesOf(run, x, indices, 0));
  Dims dims = tuples.outer;
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(tuples.length), x.dims.end());
  if (updates.dims != dims) {
    return run.Fail("the updates are " + TypeText(updates.type, updates.dims), TypeText(x.type, dims));
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, x.dims));
  result.bytes = x.bytes;
  const size_t bytes = tuples.slice * UnpackedBytes(x.type);
  for (uint64_t t = 0; t < tuples.count; ++t) {
    TESSERA_ASSIGN(const uint64_t at, SliceOf(run, x, indices, tuples, t));
    if (bytes > 0) std::memcpy(result.bytes.data() + at * bytes, updates.bytes.data() + t * bytes, bytes);
  }
  return result;
}

}  // namespace

std::span<const Implementation> IndexingOperators() {
  static constexpr std::array kRows = {
      One<Gather>("Gather"),       One<GatherElements>("GatherElements"),   One<GatherNd>("GatherND"),
      One<ScatterNd>("ScatterND"), One<ScatterElements>("ScatterElements"),
  };
  return kRows;
}

}  // namespace tessera
