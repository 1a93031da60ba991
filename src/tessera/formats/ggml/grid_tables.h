// The constants of ggml's IQ types in short, made by tools/grid_tables.py: points of their grids as keys, and the
// levels of IQ4_NL. grid.h expands them. Source: the tables of ggml, version 0.21.0, as testdata/ggml/tables has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::ggml {

// A grid: points of `elements` numbers, of which only a few different ones occur, the levels. A point's key has the
// number of the level of element k in the `bits` bits from bit `bits * k`.
struct GridTable {
  std::string_view name;
  size_t elements;
  size_t bits;
  std::span<const int8_t> levels;  // ascending
  std::span<const uint16_t> keys;  // ascending; the place is the index that blocks store
};

extern const GridTable kIq1sTable;
extern const GridTable kIq2xxsTable;
extern const GridTable kIq2xsTable;
extern const GridTable kIq2sTable;
extern const GridTable kIq3xxsTable;
extern const GridTable kIq3sTable;

// What the codes of IQ4_NL and IQ4_XS mean.
extern const std::array<int8_t, 16> kIq4nlLevels;

}  // namespace tessera::ggml
