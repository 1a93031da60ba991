// MatMul.
#include <array>

#include "tessera/base/checked.h"
#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

// Sums from the first product on, one rounding an operation in the type that computes; integers wrap around. Other
// programs add in another order, which is why products of matrices are compared by units in the last place.
Result<Tensor> MatMul(const NodeRun& run) {
  Tensor a = run.Input(0);
  Tensor b = run.Input(1);
  if (a.Rank() == 0 || b.Rank() == 0) return run.Fail("an input is a scalar", "at least one dimension");
  // A vector is a row on the left and a column on the right.
  const bool row = a.Rank() == 1;
  const bool column = b.Rank() == 1;
  if (row) a.dims.insert(a.dims.begin(), 1);
  if (column) b.dims.push_back(1);
  const int64_t m = a.dims[a.Rank() - 2];
  const int64_t k = a.dims[a.Rank() - 1];
  const int64_t n = b.dims[b.Rank() - 1];
  if (b.dims[b.Rank() - 2] != k) {
    return run.Fail(fmt::format("{} times {}", TypeText(a.type, a.dims), TypeText(b.type, b.dims)),
                    "as many columns as rows");
  }
  // Stacks of matrices broadcast: as tensors of their leading dimensions.
  Tensor a_stack;
  Tensor b_stack;
  a_stack.dims.assign(a.dims.begin(), a.dims.end() - 2);
  b_stack.dims.assign(b.dims.begin(), b.dims.end() - 2);
  TESSERA_ASSIGN(const Broadcast shape, Broadcast::Of(run, {&a_stack, &b_stack}));
  std::vector<int64_t> dims = shape.dims();
  if (!row) dims.push_back(m);
  if (!column) dims.push_back(n);
  TESSERA_ASSIGN(Tensor result, run.New(a.type, dims));
  TESSERA_TRY(run.Spend(CheckedMul(result.Count(), static_cast<uint64_t>(k))));
  WithNumber(a.type, [&](auto number) {
    using N = decltype(number);
    using T = typename N::Work;
    if (result.Count() == 0) return;
    shape.ForEach([&](uint64_t index, const uint64_t* at) {
      const auto size = static_cast<uint64_t>(m * n);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          T sum{};
          for (int64_t c = 0; c < k; ++c) {
            const T x =
                N::Load(a.bytes.data(), at[0] * static_cast<uint64_t>(m * k) + static_cast<uint64_t>(i * k + c));
            const T y =
                N::Load(b.bytes.data(), at[1] * static_cast<uint64_t>(k * n) + static_cast<uint64_t>(c * n + j));
            if constexpr (std::is_floating_point_v<T>)
              sum = c == 0 ? x * y : sum + x * y;
            else
              sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
          }
          N::Store(result.bytes.data(), index * size + static_cast<uint64_t>(i * n + j), sum);
        }
      }
    });
  });
  return result;
}

}  // namespace

std::span<const Implementation> ProductOperators() {
  static constexpr std::array kRows = {One<MatMul>("MatMul")};
  return kRows;
}

}  // namespace tessera
