#include "tessera/jobs/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/jobs/leaf_rows.h"
#include "tessera/jobs/logical_shape.h"

namespace tessera {
namespace {

// `byte 18`, or `byte 2 bit 4`.
std::string Position(uint64_t bit) {
  return bit % 8 == 0 ? fmt::format("{}", bit / 8) : fmt::format("{}.{}", bit / 8, bit % 8);
}

std::string TypeText(const Leaf& leaf) {
  return leaf.component ? fmt::format("{} bit{}", leaf.bits, leaf.bits == 1 ? "" : "s") : std::string(Name(leaf.type));
}

std::string DimsText(const std::vector<uint64_t>& dims) {
  return dims.empty() ? "" : fmt::format("[{}]", fmt::join(dims, ", "));
}

// Distances between neighbours along each dimension, in bytes where they are whole.
std::string StrideText(const Leaf& leaf) {
  std::string text;
  for (uint64_t stride : leaf.bit_strides) {
    text += text.empty() ? "" : ", ";
    text += stride % 8 == 0 ? fmt::format("{}", stride / 8) : fmt::format("{} bits", stride);
  }
  return text;
}

char Letter(size_t index) { return static_cast<char>('a' + index % 26); }

// The bits of the first bytes: which leaf, and which of its elements.
class BitMap {
 public:
  struct Cell {
    int leaf = -1;
    uint64_t element = 0;
  };

  explicit BitMap(uint64_t bytes) : cells_(bytes * 8) {}

  void Draw(const Leaf& leaf, int index) { Walk(leaf, index, 0, leaf.bit_offset, 0); }
  const Cell& operator[](uint64_t bit) const { return cells_[bit]; }

 private:
  void Walk(const Leaf& leaf, int index, size_t dim, uint64_t bit, uint64_t element) {
    if (bit >= cells_.size()) return;
    if (dim == leaf.dims.size()) {
      for (uint64_t i = bit; i < std::min<uint64_t>(bit + leaf.bits, cells_.size()); ++i) cells_[i] = {index, element};
      return;
    }
    // Strides are positive, so the first element beyond the map ends the dimension.
    for (uint64_t i = 0; i < leaf.dims[dim]; ++i) {
      uint64_t at = bit + i * leaf.bit_strides[dim];
      if (at >= cells_.size()) return;
      Walk(leaf, index, dim + 1, at, element * leaf.dims[dim] + i);
    }
  }

  std::vector<Cell> cells_;
};

std::string ElementName(const Leaf& leaf, uint64_t element) {
  if (leaf.dims.empty()) return leaf.path;
  std::vector<uint64_t> index(leaf.dims.size());
  for (size_t i = leaf.dims.size(); i-- > 0;) {
    index[i] = element % leaf.dims[i];
    element /= leaf.dims[i];
  }
  return fmt::format("{}[{}]", leaf.path, fmt::join(index, ","));
}

std::string FieldTable(const CheckedType& type) {
  std::string text;
  size_t path_width = 5;
  size_t type_width = 4;
  for (const Leaf& leaf : type.leaves) {
    path_width = std::max(path_width, Printable(leaf.path).size());
    type_width = std::max(type_width, TypeText(leaf).size());
  }
  text += fmt::format("     {:<{}}  {:<{}}  {:>8}  {}\n", "field", path_width, "type", type_width, "byte",
                      "dimensions, distance in bytes");
  size_t index = 0;
  for (const Leaf& leaf : type.leaves) {
    bool constant = leaf.constant != nullptr;
    std::string dims = DimsText(leaf.dims);
    if (!constant && !leaf.dims.empty()) dims += "  every " + StrideText(leaf);
    text +=
        fmt::format("  {}  {:<{}}  {:<{}}  {:>8}  {}\n", constant ? ' ' : Letter(index), Printable(leaf.path),
                    path_width, TypeText(leaf), type_width, constant ? "constant" : Position(leaf.bit_offset), dims);
    if (!constant) ++index;
  }
  return text;
}

}  // namespace

std::string LayoutText(const CheckedType& type, const LayoutOptions& options) {
  const uint64_t size_bytes = CeilDiv(type.size_bits, 8);
  std::string text = fmt::format(
      "{}: {} bytes", type.declaration.Name().empty() ? "(no name)" : Printable(type.declaration.Name()), size_bytes);
  if (type.size_bits % 8 != 0) text += fmt::format(" ({} bits)", type.size_bits);
  if (std::optional<double> bits = BitsPerWeight(type)) text += fmt::format(", {:.6g} bits per weight", *bits);
  text += "\n" + FieldTable(type);

  const uint64_t shown = std::min(size_bytes, options.max_bytes);
  if (shown == 0) return text;
  BitMap map(shown);
  std::vector<const Leaf*> drawn;
  for (const Leaf& leaf : type.leaves) {
    if (leaf.constant != nullptr || leaf.Count() == 0) {
      if (leaf.constant == nullptr) drawn.push_back(&leaf);
      continue;
    }
    map.Draw(leaf, static_cast<int>(drawn.size()));
    drawn.push_back(&leaf);
  }
  text += fmt::format("\n  {:>8}  7      0\n", "byte");
  for (uint64_t byte = 0; byte < shown; ++byte) {
    std::string cells;
    std::string names;
    const BitMap::Cell* before = nullptr;
    for (int bit = 7; bit >= 0; --bit) {
      const BitMap::Cell& cell = map[byte * 8 + bit];
      if (cell.leaf < 0) {
        cells += '.';
        continue;
      }
      char letter = Letter(cell.leaf);
      cells += cell.element % 2 == 0 ? letter : static_cast<char>(letter - 'a' + 'A');
      if (before == nullptr || before->leaf != cell.leaf || before->element != cell.element) {
        names += (names.empty() ? "" : " | ") + Printable(ElementName(*drawn[cell.leaf], cell.element));
      }
      before = &cell;
    }
    text += fmt::format("  {:>8}  {}  {}\n", byte, cells, names);
  }
  if (shown < size_bytes) text += fmt::format("  ... {} more bytes (--bytes N shows more)\n", size_bytes - shown);
  return text;
}

nlohmann::ordered_json LeafRows(const CheckedType& type) {
  nlohmann::ordered_json leaves = nlohmann::ordered_json::array();
  for (const Leaf& leaf : type.leaves) {
    nlohmann::ordered_json row = {{"path", leaf.path},
                                  {"input_name", leaf.input_name},
                                  {"type", Name(leaf.type)},
                                  {"bits", leaf.bits},
                                  {"dims", leaf.dims}};
    if (leaf.constant == nullptr) {
      row["bit_offset"] = leaf.bit_offset;
      row["bit_strides"] = leaf.bit_strides;
    } else {
      row["constant"] = true;
    }
    leaves.push_back(std::move(row));
  }
  return leaves;
}

std::string LayoutJson(const CheckedType& type) {
  using Json = nlohmann::ordered_json;
  Json json = {{"name", type.declaration.Name()}, {"size_bits", type.size_bits}, {"leaves", LeafRows(type)}};
  if (std::optional<double> bits = BitsPerWeight(type)) json["bits_per_weight"] = *bits;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera
