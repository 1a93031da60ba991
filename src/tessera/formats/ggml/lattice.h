// The encoder that IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S share; a rule says how they differ.
//
// 256 values are magnitudes and signs. Magnitudes in groups of 4 or 8 are points of a grid, times a scale of 16 or 32
// values, the part; the scales of parts are odd numbers 1, 3, .. 31 times one float16. In a search level l of a grid
// stands for 2l + 1.
// Source: ggml's quantizers (ggml-quants.c, version 0.21.0), from a description of what they compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/grid.h"
#include "tessera/formats/ggml/search_block.h"

namespace tessera::ggml {

inline constexpr size_t kLatticeValues = 256;

struct LatticeRule {
  enum class Last : uint8_t { kOffGrid, kAllIfAnyOffGrid, kAll };

  const GridSearch& (*search)();
  size_t part;
  bool even_signs;  // of 8 values; the sign of the one that matters least is turned
  float tiny;       // a part whose largest magnitude is smaller has index 0, no signs and the smallest scale
  // Scales that are tried put the largest magnitude on the highest level plus or minus step, 2 * step, .. trials *
  // step.
  int trials;
  float step;
  // Instead of the largest magnitude, the highest level of a search without grid for three levels.
  bool first_without_grid;
  // Groups that are set on the grid again with the scale that the best trial gave.
  Last last;
  float means;  // of which ErrorWeights speaks
  PlainWeight plain;
  float stored;  // the float16 is this times what the scales of parts ask for: makes up for rounding them
};

struct LatticeCodes {
  std::array<uint16_t, kLatticeValues / 4> points = {};  // one a group
  std::array<uint8_t, kLatticeValues / 8> signs = {};    // bit k set if element k is negative; one for 8 values
  std::array<uint8_t, kLatticeValues / 16> scales = {};  // 0 .. 15, one a part
};

// Stores the float16 at `d` and returns the rest.
LatticeCodes EncodeLattice(const LatticeRule& rule, const BlockInput& in, uint8_t* d);

}  // namespace tessera::ggml
