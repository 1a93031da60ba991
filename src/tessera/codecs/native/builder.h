// From a profile and its declarations to codecs. Private to codecs/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/codecs/native/codec.h"
#include "tessera/quant/profile.h"
#include "tessera/quant/tiles.h"
#include "tessera/types/struct_type.h"

namespace tessera::native {

// Where a profile stands: as quant::Level.
struct Level {
  const Profile* profile = nullptr;
  int32_t type = 0;             // the declaration
  std::vector<uint64_t> shape;  // logical
  std::vector<size_t> order;    // the axes from the outermost to the innermost in memory
  uint64_t values = 0;
  bool is_root = false;
  bool in_tile = false;
  // Where the codes of a declaration without fields of its own begin: tiles of a merged tiling.
  std::optional<uint64_t> codes_bit;
};

using CodecPtr = std::unique_ptr<const Codec>;

class Builder {
 public:
  // The types are checked and outlive the builder.
  Builder(std::span<const StructType> types, bool wide);

  // Errors: kNotAProfile for types of another profile.
  Result<CodecPtr> Build(const Level& level);
  // Of values that `shape` has in row-major order.
  static Level Plain(const Profile& profile, int32_t type, std::vector<uint64_t> shape);
  static Level TileLevel(const Tiles& tiles, const Profile& profile, int32_t type);

  // Numbers of a type, one after the other.
  CodecPtr Numbers(ElementType type, const std::vector<uint64_t>& shape) const;

  const Arithmetic& arithmetic() const { return arithmetic_; }
  // `order` is that of the family's values.
  Codec::Common CommonOf(const Level& level, std::span<const size_t> order) const;
  Codec::Common CommonOf(const Level& level) const { return CommonOf(level, level.order); }

  // ---- Declarations

  struct Part {
    const PhysicalType* type = nullptr;
    uint64_t bit = 0;     // in the declaration
    int32_t target = -1;  // the declaration that it refers to
    uint64_t count = 1;   // of elements
    uint64_t stride = 0;  // in bits, of one
    std::string_view name;
  };
  uint64_t SizeBits(int32_t type) const { return sizes_[static_cast<size_t>(type)]; }
  // All serialized parts, in order, without padding.
  std::vector<Part> Parts(int32_t type) const;
  // Errors: kNotAProfile.
  Result<Part> Find(int32_t type, std::string_view name) const;
  // The codes, tiles or blocks.
  Result<Part> Codes(int32_t type) const;
  tl::unexpected<Error> NotAProfile(int32_t type, std::string_view field, std::string what) const;

 private:
  uint64_t SizeBits(const PhysicalType& type) const;

  std::span<const StructType> types_;
  std::vector<uint64_t> sizes_;  // of declarations, in bits
  Arithmetic arithmetic_;
};

// For each place in memory, the place in row-major order; empty where they are the same.
std::vector<uint64_t> LogicalOf(std::span<const uint64_t> shape, std::span<const size_t> order);

// One row a family.
using FamilyBuilder = Result<CodecPtr> (*)(Builder* builder, const Level& level);
Result<CodecPtr> BuildLinear(Builder* builder, const Level& level);
Result<CodecPtr> BuildCodebook(Builder* builder, const Level& level);
Result<CodecPtr> BuildFloatingPoint(Builder* builder, const Level& level);
Result<CodecPtr> BuildSparse(Builder* builder, const Level& level);
Result<CodecPtr> BuildLog(Builder* builder, const Level& level);
Result<CodecPtr> BuildFunction(Builder* builder, const Level& level);
Result<CodecPtr> BuildTiling(Builder* builder, const Level& level);
Result<CodecPtr> BuildCast(Builder* builder, const Level& level);
Result<CodecPtr> BuildStructuredBlock(Builder* builder, const Level& level);

}  // namespace tessera::native
