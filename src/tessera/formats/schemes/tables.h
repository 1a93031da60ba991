// The parts of the table of schemes, one a file. Only scheme.cc needs them.
#pragma once

#include <vector>

#include "tessera/formats/scheme.h"

namespace tessera::schemes {

std::vector<Scheme> Linear();          // one level of scale and zero point
std::vector<Scheme> SuperBlocks();     // tiles of tiles
std::vector<Scheme> FloatingPoint();   // small floats
std::vector<Scheme> Codebooks();       // indices into tables
std::vector<Scheme> Rearrangements();  // layouts, rotations, outliers, logarithms, functions of a vendor

}  // namespace tessera::schemes
