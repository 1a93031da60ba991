// Which SIMD level the library runs on: what the machine has, masked by the environment variable TESSERA_CPU.
//
// TESSERA_CPU names the highest level that may be used, in Highway's names: scalar (no SIMD instructions), ssse3,
// sse4, avx2, avx3 (AVX-512), neon, ... A level that the machine lacks is not enabled by naming it: the best one below
// is taken. Unset or empty masks nothing, nor does an unknown name; CpuReport() says which it was.
// The variable is read once. Code with HWY_DYNAMIC_DISPATCH calls CpuInit() first. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Applies TESSERA_CPU to every later dispatch; cheap after the first call.
void CpuInit();

// Those of Highway's target bits in `supported` that `level` (a value of TESSERA_CPU) allows; never a bit more.
// nullopt for an unknown name.
std::optional<int64_t> AllowedTargets(std::string_view level, int64_t supported);

// One of Highway's target bits in the spelling of TESSERA_CPU; EMU128 is `scalar` too.
std::string CpuTargetName(int64_t target);

// What dispatch may choose from, best first; at least `scalar`.
std::vector<std::string> CpuTargets();

// For logs: `avx2 (of avx2 sse4 ssse3 scalar)`, followed by what TESSERA_CPU masked, or that its value is unknown.
std::string CpuReport();

}  // namespace tessera
