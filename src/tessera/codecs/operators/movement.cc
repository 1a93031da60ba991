// Operators that move elements and compute nothing.
#include <array>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

using Dims = std::vector<int64_t>;

Result<Tensor> WithDims(const NodeRun& run, const Tensor& x, Dims dims) {
  TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
  result.bytes = x.bytes;
  return result;
}

Result<Tensor> Identity(const NodeRun& run) { return WithDims(run, run.Input(0), run.Input(0).dims); }

Result<Tensor> Reshape(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(Dims dims, run.Numbers(1, 1'024, "the shape"));
  TESSERA_ASSIGN(const int64_t allow_zero, run.Int("allowzero", 0));
  size_t open = dims.size();
  std::optional<uint64_t> known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && allow_zero == 0) {
      if (i >= x.Rank()) return run.Fail(fmt::format("dimension {} is 0, and the input has none there", i), "a number");
      dims[i] = x.dims[i];
    }
    if (dims[i] == -1) {
      if (open != dims.size()) return run.Fail("two dimensions are -1", "at most one");
      open = i;
    } else if (dims[i] < 0) {
      return run.Fail(fmt::format("dimension {} is {}", i, dims[i]), "-1, 0 or more");
    } else if (known) {
      known = CheckedMul(*known, static_cast<uint64_t>(dims[i]));
    }
  }
  if (open != dims.size()) {
    if (!known || *known == 0 || x.Count() % *known != 0) {
      return run.Fail(fmt::format("{} elements do not fill the shape [{}]", x.Count(), fmt::join(dims, ", ")),
                      "a shape of as many elements");
    }
    dims[open] = static_cast<int64_t>(x.Count() / *known);
  } else if (known != x.Count()) {
    return run.Fail(fmt::format("{} elements do not fill the shape [{}]", x.Count(), fmt::join(dims, ", ")),
                    "a shape of as many elements");
  }
  return WithDims(run, x, std::move(dims));
}

Result<Tensor> Flatten(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const size_t axis, run.Axis("axis", 1, x.Rank(), /*past=*/true));
  return WithDims(run, x, {Product(x.dims, 0, axis), Product(x.dims, axis, x.Rank())});
}

Result<Tensor> Squeeze(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  std::vector<size_t> axes;
  if (run.HasInput(1)) {
    TESSERA_ASSIGN(axes, run.Axes(1, x.Rank()));
  } else {
    for (size_t i = 0; i < x.Rank(); ++i) {
      if (x.dims[i] == 1) axes.push_back(i);
    }
  }
  Dims dims;
  for (size_t i = 0; i < x.Rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      dims.push_back(x.dims[i]);
    } else if (x.dims[i] != 1) {
      return run.Fail(fmt::format("axis {} has the size {}", i, x.dims[i]), "1");
    }
  }
  return WithDims(run, x, std::move(dims));
}

Result<Tensor> Unsqueeze(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const size_t rank = x.Rank() + run.Input(1).Count();
  if (rank > 1'024) return run.Fail("there are too many axes", "at most 1024 dimensions");
  TESSERA_ASSIGN(const std::vector<size_t> axes, run.Axes(1, rank));
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    dims.push_back(std::find(axes.begin(), axes.end(), i) != axes.end() ? 1 : x.dims[next++]);
  }
  return WithDims(run, x, std::move(dims));
}

// Element i of the result is the one at start + sum of its coordinates times the steps, all in elements.
void CopyStrided(const Tensor& from, int64_t start, const std::vector<int64_t>& steps, Tensor* to) {
  const size_t width = UnpackedBytes(from.type);
  const size_t rank = to->Rank();
  const uint64_t total = to->Count();
  std::vector<int64_t> counter(rank, 0);
  int64_t at = start;
  for (uint64_t i = 0; i < total; ++i) {
    std::memcpy(to->bytes.data() + i * width, from.bytes.data() + static_cast<size_t>(at) * width, width);
    for (size_t axis = rank; axis-- > 0;) {
      at += steps[axis];
      if (++counter[axis] < to->dims[axis]) break;
      at -= steps[axis] * to->dims[axis];
      counter[axis] = 0;
    }
  }
}

// In elements, row-major.
std::vector<int64_t> StridesOf(const Dims& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

Result<Tensor> Permuted(const NodeRun& run, const Tensor& x, const std::vector<int64_t>& perm) {
  const std::vector<int64_t> strides = StridesOf(x.dims);
  Dims dims;
  std::vector<int64_t> steps;
  for (int64_t axis : perm) {
    dims.push_back(x.dims[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
  CopyStrided(x, 0, steps, &result);
  return result;
}

Result<Tensor> Transpose(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(std::optional<std::vector<int64_t>> perm, run.Ints("perm"));
  if (!perm) {
    perm.emplace(x.Rank());
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  std::vector<int64_t> sorted = *perm;
  std::sort(sorted.begin(), sorted.end());
  bool whole = sorted.size() == x.Rank();
  for (size_t i = 0; i < sorted.size(); ++i) whole = whole && sorted[i] == static_cast<int64_t>(i);
  if (!whole) {
    return run.Fail(fmt::format("[{}] is no permutation of {} axes", fmt::join(*perm, ", "), x.Rank()),
                    "each axis once");
  }
  return Permuted(run, x, *perm);
}

// The elements of the depth in blocks of the plane.
Result<Tensor> DepthToSpace(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const int64_t block, run.Int("blocksize", 0));
  TESSERA_ASSIGN(const std::string mode, run.Text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD") return run.Fail("the mode is " + Quoted(mode), "DCR or CRD");
  if (x.Rank() != 4) return run.Fail(fmt::format("the input has {} dimensions", x.Rank()), "4");
  if (block < 1 || block > 1 << 20 || x.dims[1] % (block * block) != 0) {
    return run.Fail(fmt::format("a depth of {} is no whole number of blocks of {} x {}", x.dims[1], block, block),
                    "a multiple");
  }
  const int64_t depth = x.dims[1] / (block * block);
  const bool dcr = mode == "DCR";
  Tensor split = x;
  split.dims = dcr ? Dims{x.dims[0], block, block, depth, x.dims[2], x.dims[3]}
                   : Dims{x.dims[0], depth, block, block, x.dims[2], x.dims[3]};
  TESSERA_ASSIGN(Tensor result, Permuted(run, split, dcr ? Dims{0, 3, 4, 1, 5, 2} : Dims{0, 1, 4, 2, 5, 3}));
  result.dims = {x.dims[0], depth, x.dims[2] * block, x.dims[3] * block};
  return result;
}

Result<Tensor> Concat(const NodeRun& run) {
  const Tensor& first = run.Input(0);
  if (run.FindAttribute("axis") == nullptr) return run.Fail("there is no axis", "the attribute axis");
  TESSERA_ASSIGN(const size_t axis, run.Axis("axis", 0, first.Rank()));
  Dims dims = first.dims;
  dims[axis] = 0;
  for (size_t i = 0; i < run.input_count(); ++i) {
    const Tensor& part = run.Input(i);
    bool fits = part.Rank() == first.Rank();
    for (size_t k = 0; fits && k < dims.size(); ++k) fits = k == axis || part.dims[k] == first.dims[k];
    if (!fits) {
      return run.Fail(fmt::format("input {} is {}", i, TypeText(part.type, part.dims)),
                      "the first input's dimensions, but along the axis");
    }
    const std::optional<uint64_t> sum =
        CheckedAdd(static_cast<uint64_t>(dims[axis]), static_cast<uint64_t>(part.dims[axis]));
    if (!sum || *sum > static_cast<uint64_t>(INT64_MAX)) return run.Fail("the axis would pass 2^63", "fewer elements");
    dims[axis] = static_cast<int64_t>(*sum);
  }
  TESSERA_ASSIGN(Tensor result, run.New(first.type, dims));
  const size_t width = UnpackedBytes(first.type);
  const auto rows = static_cast<size_t>(Product(dims, 0, axis));
  const size_t row_bytes = static_cast<size_t>(Product(dims, axis, dims.size())) * width;
  size_t offset = 0;
  for (size_t i = 0; i < run.input_count(); ++i) {
    const Tensor& part = run.Input(i);
    const size_t part_bytes = static_cast<size_t>(Product(part.dims, axis, part.Rank())) * width;
    for (size_t row = 0; row < rows && part_bytes > 0; ++row) {
      std::memcpy(result.bytes.data() + row * row_bytes + offset, part.bytes.data() + row * part_bytes, part_bytes);
    }
    offset += part_bytes;
  }
  return result;
}

Result<Tensor> Slice(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const std::vector<int64_t> starts, run.Numbers(1, x.Rank(), "the list of starts"));
  TESSERA_ASSIGN(const std::vector<int64_t> ends, run.Numbers(2, x.Rank(), "the list of ends"));
  std::vector<size_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (run.HasInput(3)) {
    TESSERA_ASSIGN(axes, run.Axes(3, x.Rank()));
  }
  std::vector<int64_t> steps(starts.size(), 1);
  if (run.HasInput(4)) {
    TESSERA_ASSIGN(steps, run.Numbers(4, x.Rank(), "the list of steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return run.Fail("starts, ends, axes and steps have different lengths", "one entry of each for an axis");
  }
  const std::vector<int64_t> strides = StridesOf(x.dims);
  Dims dims = x.dims;
  std::vector<int64_t> moves = strides;
  int64_t start = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = axes[i];
    const int64_t size = x.dims[axis];
    const int64_t step = steps[i];
    if (step == 0) return run.Fail("a step is 0", "a step that is not 0");
    // Clamped to the axis, as ONNX has it: for a step backwards one place lower.
    auto clamp = [&](int64_t at) {
      if (at < 0) at += size;  // at least -2^63, and size is not negative
      return std::clamp<int64_t>(at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
    };
    int64_t first = clamp(starts[i]);
    // What starts before the axis starts at its first element, backwards too.
    if (step < 0 && starts[i] < 0 && starts[i] + size < 0) first = 0;
    const int64_t last = clamp(ends[i]);
    int64_t count = 0;
    if (step > 0 && last > first) count = (last - first - 1) / step + 1;
    // -2^63 has no opposite, and any step beyond the size takes one element.
    if (step < 0 && first > last && size > 0) count = (first - last - 1) / -std::max(step, -INT64_MAX) + 1;
    dims[axis] = count;
    if (count > 0) start += first * strides[axis];
    moves[axis] = count > 1 ? strides[axis] * step : 0;
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, dims));
  CopyStrided(x, start, moves, &result);
  return result;
}

Result<std::vector<Tensor>> Split(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const size_t axis, run.Axis("axis", 0, x.Rank()));
  const auto outputs = static_cast<int64_t>(run.output_count());
  const int64_t size = x.dims[axis];
  std::vector<int64_t> sizes;
  if (run.HasInput(1)) {
    TESSERA_ASSIGN(sizes, run.Numbers(1, 65'536, "the list of sizes"));
  } else {
    TESSERA_ASSIGN(const int64_t parts, run.Int("num_outputs", outputs));
    if (parts < 1 || parts > 65'536) return run.Fail(fmt::format("num_outputs is {}", parts), "1 or more");
    // Equal parts; from opset 18 on the last one may be smaller.
    if (run.opset() < 18 && size % parts != 0) {
      return run.Fail(fmt::format("{} elements are no {} equal parts", size, parts), "a multiple, or sizes");
    }
    const int64_t each = size / parts + (size % parts != 0 ? 1 : 0);
    int64_t left = size;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::min(each, left));
      left -= sizes.back();
    }
  }
  if (static_cast<int64_t>(sizes.size()) != outputs) {
    return run.Fail(fmt::format("there are {} parts for {} outputs", sizes.size(), outputs), "one for each output");
  }
  int64_t sum = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - sum) {
      return run.Fail(fmt::format("the sizes [{}] do not make {}", fmt::join(sizes, ", "), size),
                      "sizes whose sum it is");
    }
    sum += part;
  }
  if (sum != size) {
    return run.Fail(fmt::format("the sizes [{}] do not make {}", fmt::join(sizes, ", "), size),
                    "sizes whose sum it is");
  }
  const size_t width = UnpackedBytes(x.type);
  const auto rows = static_cast<size_t>(Product(x.dims, 0, axis));
  const size_t inner = static_cast<size_t>(Product(x.dims, axis + 1, x.Rank())) * width;
  std::vector<Tensor> results;
  size_t offset = 0;
  for (int64_t part : sizes) {
    Dims dims = x.dims;
    dims[axis] = part;
    TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
    const size_t bytes = static_cast<size_t>(part) * inner;
    for (size_t row = 0; row < rows && bytes > 0; ++row) {
      std::memcpy(result.bytes.data() + row * bytes, x.bytes.data() + row * static_cast<size_t>(size) * inner + offset,
                  bytes);
    }
    offset += bytes;
    results.push_back(std::move(result));
  }
  return results;
}

Result<Tensor> Expand(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(Dims wanted, run.Numbers(1, 1'024, "the shape"));
  for (int64_t dim : wanted) {
    if (dim < 0) return run.Fail(fmt::format("the shape has a dimension of {}", dim), "0 or more");
  }
  const size_t rank = std::max(x.Rank(), wanted.size());
  const std::vector<int64_t> strides = StridesOf(x.dims);
  Dims dims(rank, 1);
  std::vector<int64_t> steps(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_end = rank - i;
    const int64_t own = from_end <= x.Rank() ? x.dims[x.Rank() - from_end] : 1;
    const int64_t other = from_end <= wanted.size() ? wanted[wanted.size() - from_end] : 1;
    if (own != other && own != 1 && other != 1) {
      return run.Fail(fmt::format("{} does not broadcast to [{}]", TypeText(x.type, x.dims), fmt::join(wanted, ", ")),
                      "equal dimensions, or 1");
    }
    dims[i] = own == 1 ? other : own;
    if (own != 1) steps[i] = strides[x.Rank() - from_end];
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, std::move(dims)));
  CopyStrided(x, 0, steps, &result);
  return result;
}

Result<Tensor> Tile(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const std::vector<int64_t> repeats, run.Numbers(1, x.Rank(), "the list of repeats"));
  if (repeats.size() != x.Rank()) {
    return run.Fail(fmt::format("there are {} repeats for {} dimensions", repeats.size(), x.Rank()), "one for each");
  }
  // Each axis as two: repeats in front of what is repeated.
  const std::vector<int64_t> strides = StridesOf(x.dims);
  Dims dims;
  Dims split;
  std::vector<int64_t> steps;
  for (size_t i = 0; i < x.Rank(); ++i) {
    if (repeats[i] < 0) return run.Fail(fmt::format("a repeat is {}", repeats[i]), "0 or more");
    const std::optional<uint64_t> size =
        CheckedMul(static_cast<uint64_t>(repeats[i]), static_cast<uint64_t>(x.dims[i]));
    if (!size || *size > static_cast<uint64_t>(INT64_MAX)) return run.Fail("an axis would pass 2^63", "fewer repeats");
    dims.push_back(static_cast<int64_t>(*size));
    split.insert(split.end(), {repeats[i], x.dims[i]});
    steps.insert(steps.end(), {0, strides[i]});
  }
  TESSERA_ASSIGN(Tensor result, run.New(x.type, dims));
  result.dims = split;
  CopyStrided(x, 0, steps, &result);
  result.dims = std::move(dims);
  return result;
}

Result<Tensor> Pad(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  TESSERA_ASSIGN(const std::string mode, run.Text("mode", "constant"));
  const bool wrap = mode == "wrap" && run.opset() >= 19;
  if (mode != "constant" && mode != "reflect" && mode != "edge" && !wrap) {
    return run.Fail("the mode is " + Quoted(mode),
                    run.opset() >= 19 ? "constant, reflect, edge or wrap" : "constant, reflect or edge");
  }
  std::vector<size_t> axes(x.Rank());
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (run.HasInput(3)) {
    TESSERA_ASSIGN(axes, run.Axes(3, x.Rank()));
  }
  TESSERA_ASSIGN(const std::vector<int64_t> pads, run.Numbers(1, 2 * x.Rank(), "the list of pads"));
  if (pads.size() != 2 * axes.size()) {
    return run.Fail(fmt::format("there are {} pads for {} axes", pads.size(), axes.size()), "two for each axis");
  }
  const size_t width = UnpackedBytes(x.type);
  std::vector<uint8_t> fill(width, 0);
  if (run.HasInput(2)) {
    TESSERA_ASSIGN(const Tensor* value, run.Single(2, "the value"));
    fill = value->bytes;
  }
  std::vector<int64_t> before(x.Rank(), 0);
  Dims dims = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t low = pads[i];
    const int64_t high = pads[axes.size() + i];
    constexpr int64_t kMost = int64_t{1} << 40;
    if (low < -kMost || low > kMost || high < -kMost || high > kMost) return run.Fail("a pad is too large", "less");
    before[axes[i]] = low;
    dims[axes[i]] += low + high;
    if (dims[axes[i]] < 0) return run.Fail("more is cut off than there is", "smaller pads");
    if (mode != "constant" && x.dims[axes[i]] == 0 && dims[axes[i]] > 0) {
      return run.Fail("an axis without elements is padded with them", "the mode constant");
    }
  }
  // For each axis and place of the result the place in the input, or -1.
  std::vector<std::vector<int64_t>> sources(x.Rank());
  TESSERA_ASSIGN(Tensor result, run.New(x.type, dims));
  if (result.Count() == 0) return result;
  for (size_t axis = 0; axis < x.Rank(); ++axis) {
    const int64_t size = x.dims[axis];
    for (int64_t i = 0; i < dims[axis]; ++i) {
      int64_t at = i - before[axis];
      if (at < 0 || at >= size) {
        if (mode == "constant") {
          at = -1;
        } else if (mode == "edge") {
          at = at < 0 ? 0 : size - 1;
        } else if (wrap) {
          at = (at % size + size) % size;
        } else {
          const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
          at = (at % period + period) % period;
          if (at >= size) at = period - at;
        }
      }
      sources[axis].push_back(at);
    }
  }
  const std::vector<int64_t> strides = StridesOf(x.dims);
  std::vector<int64_t> counter(x.Rank(), 0);
  for (uint64_t i = 0; i < result.Count(); ++i) {
    int64_t from = 0;
    for (size_t axis = 0; axis < x.Rank() && from >= 0; ++axis) {
      const int64_t at = sources[axis][static_cast<size_t>(counter[axis])];
      from = at < 0 ? -1 : from + at * strides[axis];
    }
    std::memcpy(result.bytes.data() + i * width,
                from < 0 ? fill.data() : x.bytes.data() + static_cast<size_t>(from) * width, width);
    for (size_t axis = x.Rank(); axis-- > 0;) {
      if (++counter[axis] < dims[axis]) break;
      counter[axis] = 0;
    }
  }
  return result;
}

}  // namespace

std::span<const Implementation> MovementOperators() {
  static constexpr std::array kRows = {
      One<Concat>("Concat"),
      One<DepthToSpace>("DepthToSpace"),
      One<Expand>("Expand"),
      One<Flatten>("Flatten"),
      One<Identity>("Identity"),
      One<Pad>("Pad"),
      One<Reshape>("Reshape"),
      One<Slice>("Slice"),
      Implementation{"Split", Split},
      One<Squeeze>("Squeeze"),
      One<Tile>("Tile"),
      One<Transpose>("Transpose"),
      One<Unsqueeze>("Unsqueeze"),
  };
  return kRows;
}

}  // namespace tessera
