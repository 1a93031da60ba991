// A value seen through its type: bytes, where they lie, and their leaves. Reading is lazy and bounds-checked, and
// copies nothing where a leaf is byte aligned and contiguous.
//
// A view borrows the payload: its owner (a mapped file, a buffer) must outlive it. Any number of threads may read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/type_table.h"

namespace tessera {

// The bytes of a value, in order: one segment, or several where external data is spread over files.
using Payload = std::vector<std::span<const uint8_t>>;

// Checks sizes without bytes: that segments of these sizes hold one value of `type` and no leaf crosses from one into
// the next. `where` names the value. Errors: kSizeBits, kPayloadSize, kLeafSegment.
Result<void> CheckPayload(const CheckedType& type, std::span<const uint64_t> segment_bytes, std::string_view where);

class LeafView {
 public:
  const Leaf& leaf() const { return *leaf_; }
  uint64_t count() const { return count_; }

  // The leaf's elements as they lie in the payload, where they are byte aligned, contiguous and row-major: packed for
  // types below 8 bits, and then a whole number of bytes except at the end. nullopt where they have to be unpacked.
  // The address is aligned for the element type only if the payload and the offset are.
  std::optional<std::span<const uint8_t>> Contiguous() const;

  // The address of the first element where every element is whole bytes on a byte boundary, contiguous or not: element
  // (i0, i1, ...) then lies i0 * bit_strides[0] / 8 + i1 * bit_strides[1] / 8 + ... bytes behind it (the stride of a
  // dimension 1 is never used, and may be anything). nullptr where elements have to be unpacked, or there are none.
  const uint8_t* ByteAddress() const;

  // Copies the elements [first, first + count), in row-major order, to `out`, each unpacked to
  // UnpackedBytes(leaf().type) bytes: a 4-bit element becomes a byte with its code in the low bits (signed integers
  // are sign-extended, unsigned and float codes are zero-extended).
  // Errors: kReadRange if the range leaves the leaf or `out` has another size.
  Result<void> Unpack(uint64_t first, uint64_t count, std::span<uint8_t> out) const;

 private:
  friend class StructView;
  LeafView(const Leaf* leaf, std::span<const uint8_t> bytes, uint64_t base_bit);
  const Leaf* leaf_;
  uint64_t count_;
  std::span<const uint8_t> bytes_;  // the segment, or the constant's bytes
  uint64_t base_bit_;               // payload bit at which bytes_ starts
};

class StructView {
 public:
  // `where` names the value in errors. Errors: kPayloadSize, kLeafSegment.
  static Result<StructView> Create(std::shared_ptr<const CheckedType> type, Payload payload, std::string_view where);

  const CheckedType& type() const { return *type_; }
  const Payload& payload() const { return payload_; }
  size_t leaf_count() const { return type_->leaves.size(); }

  // REQUIRES: index < leaf_count().
  LeafView leaf(size_t index) const;
  // Errors: kNoSuchLeaf, naming the leaves that there are.
  Result<LeafView> leaf(std::string_view path) const;

 private:
  StructView(std::shared_ptr<const CheckedType> type, Payload payload);
  std::shared_ptr<const CheckedType> type_;
  Payload payload_;
  std::vector<uint64_t> segment_ends_;  // in bytes of the payload
};

}  // namespace tessera
