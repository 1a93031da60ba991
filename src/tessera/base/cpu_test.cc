#include "tessera/base/cpu.h"

#include <gmock/gmock.h>
#include <hwy/targets.h>

#include <cstdlib>

namespace tessera {
namespace {

constexpr int64_t kAll = HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR;

TEST(AllowedTargets, KeepsTheNamedLevelAndWhatIsBelow) {
  EXPECT_EQ(AllowedTargets("", kAll), kAll);
  EXPECT_EQ(AllowedTargets("avx3", kAll), kAll);
  EXPECT_EQ(AllowedTargets("avx2", kAll), HWY_AVX2 | HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR);
  EXPECT_EQ(AllowedTargets("sse4", kAll), HWY_SSE4 | HWY_SSSE3 | HWY_SCALAR);
  EXPECT_EQ(AllowedTargets("ssse3", kAll), HWY_SSSE3 | HWY_SCALAR);
  EXPECT_EQ(AllowedTargets("scalar", kAll), int64_t{HWY_SCALAR});
}

TEST(AllowedTargets, EnablesNothingThatTheMachineLacks) {
  constexpr int64_t kSmall = HWY_SSSE3 | HWY_SCALAR;
  for (const char* level : {"", "avx3_dl", "avx3", "avx2", "sse4", "ssse3"})
    EXPECT_EQ(AllowedTargets(level, kSmall), kSmall);
  EXPECT_EQ(AllowedTargets("scalar", int64_t{HWY_AVX2}), 0);
}

TEST(AllowedTargets, KnowsNoOtherNames) {
  for (const char* level : {"AVX2", "avx", "avx2 ", "unknown", "2"})
    EXPECT_EQ(AllowedTargets(level, kAll), std::nullopt) << level;
}

TEST(Cpu, ReportsWhatItUses) {
  EXPECT_THAT(CpuTargets(), testing::Contains("scalar"));
  EXPECT_EQ(CpuTargets().back(), "scalar");
  EXPECT_THAT(CpuReport(), testing::StartsWith(CpuTargets().front() + " (of"));
  EXPECT_EQ(CpuTargetName(HWY_EMU128), "scalar");
  EXPECT_EQ(CpuTargetName(HWY_SCALAR), "scalar");
  // Under TESSERA_CPU=scalar, ... this very program shows that the mask holds.
  const char* level = std::getenv("TESSERA_CPU");
  if (level != nullptr && std::string_view(level) == "scalar") {
    EXPECT_THAT(CpuTargets(), testing::ElementsAre("scalar"));
  }
}

}  // namespace
}  // namespace tessera
