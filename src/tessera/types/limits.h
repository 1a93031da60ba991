// What the checker accepts at most. Defaults are safe for a stranger's file; programs may raise them.
#pragma once

#include <cstdint>

namespace tessera {

struct Limits {
  uint32_t depth = 64;                          // nesting of parts and references, the root being 1
  uint64_t fields = 65'536;                     // of one declaration, components of bit packings included
  uint64_t leaves = 65'536;                     // of one declaration
  uint64_t total_leaves = 1'048'576;            // of all declarations that a file makes the checker expand
  uint64_t constant_bytes = uint64_t{1} << 28;  // of one declaration
  uint64_t payload_bytes = uint64_t{1} << 46;   // of one value
  uint64_t profile_bytes = uint64_t{1} << 28;   // of memory that one profile takes
  uint32_t name_bytes = 4'096;                  // of one field or component name
  uint32_t message_depth = 1'000;               // nesting of protobuf messages of any kind
  uint64_t problems = 100'000;                  // listed one by one
};

}  // namespace tessera
