// Leaf extraction against memcpy, on one core, in one run: how fast LeafView writes 16 MiB of elements, as a share of
// the rate at which memcpy writes as many bytes. Fails when a share lies below its target: byte-aligned leaves cost
// no more than memcpy, 2- and 4-bit leaves reach a quarter of its rate, other widths a sixteenth. Every result is
// compared with a bit-by-bit reading in the same run.
//
//   leaf_bench [--report-only] [options of Google Benchmark]
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/cpu.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/unpack.h"

namespace tessera {
namespace {

constexpr uint64_t kOutBytes = uint64_t{16} << 20;
constexpr char kBaseline[] = "memcpy";

// Two equal memcpy runs differ by a few percent on a shared machine, so "no more than memcpy" allows this much.
constexpr double kNoise = 0.10;
constexpr double kWholeBytes = 1.0 - kNoise;
constexpr double kQuarter = 1.0 / 4;
constexpr double kSixteenth = 1.0 / 16;

// A leaf: rows of `row` elements, `row_stride` bits from row to row (0: one row).
struct Case {
  std::string name;
  uint32_t bits;
  uint64_t stride;
  uint32_t out_bytes;
  bool sign_extend;
  double target;
  uint64_t offset = 0;
  uint64_t row = 0;
  uint64_t row_stride = 0;

  uint64_t Count() const { return kOutBytes / out_bytes; }
  uint64_t RowElements() const { return row == 0 ? Count() : row; }
  uint64_t FirstBit(uint64_t element) const {
    return offset + element / RowElements() * row_stride + element % RowElements() * stride;
  }
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"UINT8, aligned", 8, 8, 1, false, kWholeBytes},
      {"FLOAT, aligned", 32, 32, 4, false, kWholeBytes},
      {"UINT2", 2, 2, 1, false, kQuarter},
      {"INT2", 2, 2, 1, true, kQuarter},
      {"UINT4", 4, 4, 1, false, kQuarter},
      {"INT4", 4, 4, 1, true, kQuarter},
      {"UINT4 from bit 3", 4, 4, 1, false, kQuarter, 3},
      {"UINT2 from bit 1", 2, 2, 1, false, kQuarter, 1},
      {"UINT4, 32 every 144 bits", 4, 4, 1, false, kQuarter, 16, 32, 144},
      {"UINT4, 256 every 1152 bits", 4, 4, 1, false, kQuarter, 128, 256, 1152},
      {"UINT2, 256 every 672 bits", 2, 2, 1, false, kQuarter, 32, 256, 672},
      {"1 bit", 1, 1, 1, false, kSixteenth},
      {"3 bits", 3, 3, 1, false, kSixteenth},
      {"5 bits", 5, 5, 1, false, kSixteenth},
      {"6 bits", 6, 6, 1, false, kSixteenth},
      {"7 bits, signed", 7, 7, 1, true, kSixteenth},
      {"8 bits from bit 3", 8, 8, 1, false, kSixteenth, 3},
      {"11 bits", 11, 11, 2, false, kSixteenth},
      {"12 bits, signed", 12, 12, 2, true, kSixteenth},
      {"24 bits", 24, 24, 4, false, kSixteenth},
      {"33 bits", 33, 33, 8, false, kSixteenth},
      {"61 bits", 61, 61, 8, false, kSixteenth},
      {"1 bit of each 4", 1, 4, 1, false, kSixteenth, 3},
      {"3 bits of each 4", 3, 4, 1, false, kSixteenth},
      {"2 bits of each 6", 2, 6, 1, false, kSixteenth},
      {"3 bits of each 11", 3, 11, 1, false, kSixteenth},
      {"FLOAT16 every 144 bits", 16, 144, 2, false, kSixteenth},
      {"UINT8 every 16 bits", 8, 16, 1, false, kSixteenth},
  };
  return cases;
}

// The case as a leaf of a value that is `src` and nothing else.
LeafView ViewOf(const Case& c, std::span<const uint8_t> src) {
  Leaf leaf;
  leaf.path = c.name;
  const uint32_t width = c.out_bytes * 8;
  if (width == 8)
    leaf.type = c.sign_extend ? ElementType::kInt8 : ElementType::kUint8;
  else if (width == 16)
    leaf.type = c.sign_extend ? ElementType::kInt16 : ElementType::kUint16;
  else
    leaf.type = width == 32 ? ElementType::kUint32 : ElementType::kUint64;
  leaf.component = true;
  leaf.bits = c.bits;
  leaf.bit_offset = c.offset;
  leaf.dims = {c.Count() / c.RowElements(), c.RowElements()};
  leaf.bit_strides = {c.row_stride, c.stride};
  auto type = std::make_shared<CheckedType>();
  type->size_bits = src.size() * 8;
  type->leaves.push_back(std::move(leaf));
  // The view borrows the leaf; types live as long as the program.
  static std::vector<std::shared_ptr<const CheckedType>> types;
  types.push_back(type);
  return StructView::Create(type, {src}, c.name)->leaf(0);
}

// Bit by bit, at the beginning, the end and a sample between.
bool IsRight(const Case& c, const std::vector<uint8_t>& src, const std::vector<uint8_t>& dst) {
  std::mt19937_64 random(1);
  constexpr uint64_t kSample = 20'000;
  for (uint64_t k = 0; k < 3 * kSample; ++k) {
    const uint64_t i = k < kSample ? k : k < 2 * kSample ? c.Count() - 1 - (k - kSample) : random() % c.Count();
    uint64_t expected = 0;
    for (uint32_t b = 0; b < c.bits; ++b) {
      const uint64_t bit = c.FirstBit(i) + b;
      expected |= static_cast<uint64_t>(src[bit / 8] >> bit % 8 & 1) << b;
    }
    if (c.sign_extend && (expected >> (c.bits - 1) & 1) != 0) expected |= ~uint64_t{0} << c.bits;
    if (std::memcmp(&expected, dst.data() + i * c.out_bytes, c.out_bytes) != 0) return false;
  }
  return true;
}

std::vector<uint8_t>& Output() {
  static std::vector<uint8_t> output(kOutBytes, 1);
  return output;
}

std::vector<uint8_t> RandomBytes(uint64_t size) {
  std::vector<uint8_t> bytes((size + 7) / 8 * 8);
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  bytes.resize(size);
  return bytes;
}

void RunMemcpy(benchmark::State& state) {
  const std::vector<uint8_t> src = RandomBytes(kOutBytes);
  for (auto _ : state) {
    std::memcpy(Output().data(), src.data(), kOutBytes);
    benchmark::ClobberMemory();
  }
}

void RunCase(benchmark::State& state, const Case& c) {
  const std::vector<uint8_t> src = RandomBytes((c.FirstBit(c.Count() - 1) + c.bits + 7) / 8);
  const LeafView view = ViewOf(c, src);
  for (auto _ : state) {
    if (!view.Unpack(0, c.Count(), Output())) return state.SkipWithError("no result");
    benchmark::ClobberMemory();
  }
  if (!IsRight(c, src, Output())) state.SkipWithError("wrong result");
}

// Why a run stopped early; "" if it did not. The field has another name since Google Benchmark 1.8.
template <typename Run>
std::string SkipReason(const Run& run) {
  if constexpr (requires { run.skip_message; }) {
    return run.skip_message;
  } else {
    return run.error_message;
  }
}

// Seconds of each repetition by benchmark.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (const std::string reason = SkipReason(run); !reason.empty()) {
        errors_.push_back(run.run_name.function_name + ": " + reason);
      } else if (run.run_type == Run::RT_Iteration) {
        seconds_[run.run_name.function_name].push_back(run.cpu_accumulated_time / static_cast<double>(run.iterations));
      }
    }
  }
  const std::vector<std::string>& errors() const { return errors_; }
  // 0 where it did not run.
  double Median(const std::string& name) {
    std::vector<double>& times = seconds_[name];
    if (times.empty()) return 0;
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<std::string> errors_;
};

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::string Commit() {
  std::string commit;
  if (FILE* pipe = popen("git -C '" TESSERA_SOURCE_DIR "' describe --always --dirty 2>/dev/null", "r")) {
    char buffer[64];
    if (std::fgets(buffer, sizeof buffer, pipe) != nullptr) commit = buffer;
    pclose(pipe);
  }
  while (!commit.empty() && commit.back() == '\n') commit.pop_back();
  return commit.empty() ? "unknown" : commit;
}

int Main(int argc, char** argv) {
  bool report_only = false;
  // Repetitions of all cases are mixed, so that a slow moment of the machine hits memcpy as well. Later options win.
  std::vector<char*> args = {argv[0]};
  static char kInterleave[] = "--benchmark_enable_random_interleaving=true";
  static char kRepetitions[] = "--benchmark_repetitions=9";
  static char kMinTime[] = "--benchmark_min_time=0.03";
  for (char* option : {kInterleave, kRepetitions, kMinTime}) args.push_back(option);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--report-only")
      report_only = true;
    else
      args.push_back(argv[i]);
  }
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (benchmark::ReportUnrecognizedArguments(count, args.data())) return 2;

  benchmark::RegisterBenchmark(kBaseline, RunMemcpy);
  for (const Case& c : Cases()) {
    benchmark::RegisterBenchmark(c.name.c_str(), [&c](benchmark::State& state) { RunCase(state, c); });
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);

  const double baseline = collector.Median(kBaseline);
  const double to_gib = static_cast<double>(kOutBytes) / (1 << 30);
  fmt::print("Leaf extraction, {} MiB of output, one core, median of the repetitions\n", kOutBytes >> 20);
  fmt::print("  {}; {}\n  compiler {}, commit {}\n\n", CpuModel(), CpuReport(), __VERSION__, Commit());
  if (baseline == 0) {
    fmt::print(stderr, "leaf_bench: memcpy did not run, so there is nothing to compare with\n");
    return 2;
  }
  fmt::print("  {:<28} {:>8} {:>10} {:>8}\n", "leaf", "GiB/s", "of memcpy", "target");
  fmt::print("  {:<28} {:>8.2f}\n", kBaseline, to_gib / baseline);
  std::vector<std::string> missed;
  for (const Case& c : Cases()) {
    const double seconds = collector.Median(c.name);
    if (seconds == 0) continue;
    const double share = baseline / seconds;
    const bool good = share >= c.target;
    fmt::print("  {:<28} {:>8.2f} {:>10.3f} {:>8.3f}{}\n", c.name, to_gib / seconds, share, c.target,
               good ? "" : "  MISSED");
    if (!good)
      missed.push_back(
          fmt::format("{} reaches {:.3f} of memcpy's rate, the target is {:.3f}", c.name, share, c.target));
  }
  for (const std::string& error : collector.errors()) fmt::print(stderr, "leaf_bench: {}\n", error);
  for (const std::string& miss : missed) fmt::print(stderr, "leaf_bench: missed: {}\n", miss);
  if (!collector.errors().empty()) return 1;
  return missed.empty() || report_only ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
