#include "tessera/base/cpu.h"

#include <hwy/targets.h>

#include <cstdlib>

namespace tessera {
namespace {

constexpr int64_t kScalarTargets = HWY_SCALAR | HWY_EMU128;

// The targets of a mask, best first: in Highway a lower bit is a better target.
std::vector<std::string> Names(int64_t targets) {
  std::vector<std::string> names;
  for (int64_t rest = targets & ~kScalarTargets; rest != 0; rest &= rest - 1)
    names.push_back(CpuTargetName(rest & -rest));
  if ((HWY_TARGETS & kScalarTargets) != 0) names.push_back("scalar");  // newer Highways may compile none
  return names;
}

struct Choice {
  std::string level;  // the value of TESSERA_CPU
  bool known = true;
  int64_t supported = 0;
  int64_t allowed = 0;
};

const Choice& TheChoice() {
  static const Choice choice = [] {
    Choice c;
    const char* level = std::getenv("TESSERA_CPU");
    c.level = level == nullptr ? "" : level;
    c.supported = hwy::SupportedTargets();
    auto allowed = AllowedTargets(c.level, c.supported);
    c.known = allowed.has_value();
    c.allowed = allowed.value_or(c.supported);
    if (c.allowed != c.supported) hwy::DisableTargets(c.supported & ~c.allowed);
    return c;
  }();
  return choice;
}

}  // namespace

void CpuInit() { TheChoice(); }

std::optional<int64_t> AllowedTargets(std::string_view level, int64_t supported) {
  if (level.empty()) return supported;
  if (level == "scalar") return supported & kScalarTargets;
  const std::string no_target = CpuTargetName(0);  // Highway's word for a bit that is none of its targets
  for (int64_t target = 1; target > 0 && target < kScalarTargets; target <<= 1) {
    const bool is_simd = (target & kScalarTargets) == 0 && CpuTargetName(target) != no_target;
    if (is_simd && CpuTargetName(target) == level) return supported & ~(target - 1);
  }
  return std::nullopt;
}

std::string CpuTargetName(int64_t target) {
  if ((target & kScalarTargets) != 0) return "scalar";
  std::string name = hwy::TargetName(target);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

std::vector<std::string> CpuTargets() { return Names(TheChoice().allowed); }

std::string CpuReport() {
  const Choice& choice = TheChoice();
  std::string report = Names(choice.allowed).front() + " (of";
  for (const std::string& name : Names(choice.supported)) report += " " + name;
  report += ')';
  if (!choice.known)
    report += ", TESSERA_CPU names no level and is ignored";
  else if (!choice.level.empty())
    report += ", TESSERA_CPU=" + choice.level;
  return report;
}

}  // namespace tessera
