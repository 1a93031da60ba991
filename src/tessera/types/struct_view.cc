#include "tessera/types/struct_view.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/types/unpack.h"

namespace tessera {
namespace {

// A list of the leaves for an error message, cut short.
std::string LeafNames(const std::vector<Leaf>& leaves) {
  constexpr size_t kShown = 12;
  std::string names;
  for (size_t i = 0; i < std::min(leaves.size(), kShown); ++i) names += (i == 0 ? "" : ", ") + leaves[i].path;
  return leaves.size() > kShown ? names + fmt::format(" and {} more", leaves.size() - kShown) : names;
}

// True if the elements follow each other without a gap, in row-major order.
bool IsContiguous(const Leaf& leaf) {
  uint64_t expected = leaf.bits;
  for (size_t i = leaf.dims.size(); i-- > 0;) {
    if (leaf.dims[i] != 1 && leaf.bit_strides[i] != expected) return false;
    expected *= leaf.dims[i];
  }
  return true;
}

}  // namespace

LeafView::LeafView(const Leaf* leaf, std::span<const uint8_t> bytes, uint64_t base_bit)
    : leaf_(leaf), count_(leaf->Count()), bytes_(bytes), base_bit_(base_bit) {}

std::optional<std::span<const uint8_t>> LeafView::Contiguous() const {
  if (count_ == 0) return std::span<const uint8_t>();
  uint64_t start = leaf_->bit_offset - base_bit_;
  bool whole_elements = !leaf_->component || leaf_->bits == BitWidth(leaf_->type);
  if (start % 8 != 0 || !whole_elements || !IsContiguous(*leaf_)) return std::nullopt;
  return bytes_.subspan(start / 8, CeilDiv(count_ * leaf_->bits, 8));
}

const uint8_t* LeafView::ByteAddress() const {
  const uint64_t start = leaf_->bit_offset - base_bit_;
  const bool whole_elements = leaf_->bits % 8 == 0 && (!leaf_->component || leaf_->bits == BitWidth(leaf_->type));
  if (count_ == 0 || start % 8 != 0 || !whole_elements) return nullptr;
  for (size_t i = 0; i < leaf_->dims.size(); ++i) {
    if (leaf_->dims[i] != 1 && leaf_->bit_strides[i] % 8 != 0) return nullptr;
  }
  return bytes_.data() + start / 8;
}

Result<void> LeafView::Unpack(uint64_t first, uint64_t count, std::span<uint8_t> out) const {
  const uint32_t out_bytes = UnpackedBytes(leaf_->type);
  if (first > count_ || count > count_ - first) {
    return Fail(ErrorCode::kReadRange, leaf_->path,
                fmt::format("{} elements from {} on, of {}", count, first, count_),
                "a range inside the leaf");
  }
  if (out.size() / out_bytes != count || out.size() % out_bytes != 0) {
    return Fail(ErrorCode::kReadRange, leaf_->path, fmt::format("the buffer has {} bytes", out.size()),
                fmt::format("{} elements of {} bytes", count, out_bytes));
  }
  if (count == 0) return {};

  if (std::optional<std::span<const uint8_t>> bytes = Contiguous(); bytes && leaf_->bits % 8 == 0) {
    std::memcpy(out.data(), bytes->data() + first * out_bytes, out.size());
    return {};
  }
  // Rows are runs of elements with one stride: trailing dimensions that continue each other are one row.
  uint64_t row = 1;
  uint64_t stride = leaf_->bits;
  size_t outer = leaf_->dims.size();
  while (outer > 0) {
    uint64_t dim = leaf_->dims[outer - 1];
    if (row == 1) stride = leaf_->bit_strides[outer - 1];
    else if (dim != 1 && leaf_->bit_strides[outer - 1] != stride * row) break;
    row *= dim;
    --outer;
  }
  const bool sign_extend = Info(leaf_->type).kind == ElementKind::kSigned;
  // The unpacker takes COMPLEX128, the one type over 64 bits, in halves.
  const bool in_halves = leaf_->bits > 64;
  const BitUnpacker unpacker = in_halves ? BitUnpacker(64, 64, 8, false) : BitUnpacker(leaf_->bits, stride, out_bytes, sign_extend);
  uint8_t* dst = out.data();
  // The row's position along the outer dimensions, counted up like an odometer: divisions only to start.
  std::vector<uint64_t> index(outer);
  uint64_t row_index = first / row;
  uint64_t row_start = leaf_->bit_offset - base_bit_;
  for (size_t i = outer; i-- > 0;) {
    index[i] = row_index % leaf_->dims[i];
    row_index /= leaf_->dims[i];
    row_start += index[i] * leaf_->bit_strides[i];
  }
  uint64_t in_row = first % row;
  while (count > 0) {
    // Whole rows along the innermost outer dimension at once, else what is left of one row.
    uint64_t rows = 1;
    uint64_t run = std::min(count, row - in_row);
    if (in_row == 0 && run == row && outer > 0) rows = std::min(count / row, leaf_->dims[outer - 1] - index[outer - 1]);
    const uint64_t row_stride = outer > 0 ? leaf_->bit_strides[outer - 1] : 0;
    const uint64_t start = row_start + in_row * stride;
    if (in_halves) {
      for (uint64_t r = 0; r < rows; ++r) {
        unpacker.RunRows(bytes_, start + r * row_stride, stride, run, 2, dst + r * run * out_bytes);
      }
    } else {
      unpacker.RunRows(bytes_, start, row_stride, rows, run, dst);
    }
    dst += rows * run * out_bytes;
    count -= rows * run;
    in_row = 0;
    for (size_t i = outer; i-- > 0;) {
      const uint64_t steps = i == outer - 1 ? rows : 1;
      row_start += steps * leaf_->bit_strides[i];
      if ((index[i] += steps) < leaf_->dims[i]) break;
      row_start -= leaf_->bit_strides[i] * leaf_->dims[i];
      index[i] = 0;
    }
  }
  return {};
}

StructView::StructView(std::shared_ptr<const CheckedType> type, Payload payload)
    : type_(std::move(type)), payload_(std::move(payload)) {
  uint64_t end = 0;
  for (std::span<const uint8_t> segment : payload_) segment_ends_.push_back(end += segment.size());
}

Result<void> CheckPayload(const CheckedType& type, std::span<const uint64_t> segment_bytes, std::string_view where) {
  uint64_t total = 0;
  std::vector<uint64_t> ends;
  for (uint64_t bytes : segment_bytes) {
    std::optional<uint64_t> sum = CheckedAdd(total, bytes);
    if (!sum) return Fail(ErrorCode::kPayloadSize, std::string(where), "the segments' sizes do not fit into 64 bits");
    ends.push_back(total = *sum);
  }
  if (type.size_bits % 8 != 0) {
    return Fail(ErrorCode::kSizeBits, std::string(where), fmt::format("its type has {} bits", type.size_bits),
                fmt::format("whole bytes: {} bits of padding", 8 - type.size_bits % 8));
  }
  if (total != type.size_bits / 8) {
    return Fail(ErrorCode::kPayloadSize, std::string(where), fmt::format("the payload has {} bytes", total),
                fmt::format("{} bytes, the size of {}", type.size_bits / 8,
                            type.declaration.Name().empty() ? "its type" : Quoted(type.declaration.Name())));
  }
  for (const Leaf& leaf : type.leaves) {
    if (leaf.constant != nullptr || leaf.Count() == 0) continue;
    auto segment = std::upper_bound(ends.begin(), ends.end(), leaf.bit_offset / 8);
    if (segment == ends.end() || leaf.EndBit() > *segment * 8) {
      return Fail(ErrorCode::kLeafSegment, std::string(where),
                  fmt::format("leaf {} crosses the end of segment {}", Quoted(leaf.path), segment - ends.begin()),
                  "each leaf within one segment");
    }
  }
  return {};
}

Result<StructView> StructView::Create(std::shared_ptr<const CheckedType> type, Payload payload,
                                      std::string_view where) {
  std::vector<uint64_t> sizes;
  for (std::span<const uint8_t> segment : payload) sizes.push_back(segment.size());
  TESSERA_TRY(CheckPayload(*type, sizes, where));
  return StructView(std::move(type), std::move(payload));
}

LeafView StructView::leaf(size_t index) const {
  const Leaf& leaf = type_->leaves[index];
  if (leaf.constant != nullptr) return LeafView(&leaf, leaf.constant->bytes, 0);
  auto segment = std::upper_bound(segment_ends_.begin(), segment_ends_.end(), leaf.bit_offset / 8);
  if (segment == segment_ends_.end()) return LeafView(&leaf, {}, leaf.bit_offset);  // a leaf without elements
  size_t i = segment - segment_ends_.begin();
  return LeafView(&leaf, payload_[i], (segment_ends_[i] - payload_[i].size()) * 8);
}

Result<LeafView> StructView::leaf(std::string_view path) const {
  for (size_t i = 0; i < type_->leaves.size(); ++i) {
    if (type_->leaves[i].path == path) return leaf(i);
  }
  return Fail(ErrorCode::kNoSuchLeaf, type_->declaration.Name(), "has no leaf " + Quoted(path),
              LeafNames(type_->leaves));
}

}  // namespace tessera
