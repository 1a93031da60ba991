// CodebookProto: the index of the entry that is nearest to value / scale, the lower one of two that are as near.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

// Distances of vectors to entries that an encoder may hold.
constexpr int64_t kMostDistances = int64_t{1} << 28;

// Above it lie the numbers of the type that are nearer to `high` than to `low`, and what is as near if `tie_to_high`.
double Threshold(ElementType type, double low, double high, bool tie_to_high) {
  // Exact: sum + rest.
  const double sum = low + high;
  const double high_part = sum - low;
  const double rest = (low - (sum - high_part)) + (high - high_part);
  const double middle = sum / 2;
  double threshold = AtMost(type, middle);
  if (threshold == middle && rest < 0) threshold = Below(type, middle);
  if (threshold == middle && rest == 0 && tie_to_high) threshold = Below(type, middle);
  return threshold;
}

// Of numbers: by the middles between the entries, which are exact.
Value NearestNumbers(FunctionBuilder* builder, const Value& x, const std::vector<float>& book) {
  FunctionBuilder& b = *builder;
  std::vector<int64_t> order(book.size());
  std::iota(order.begin(), order.end(), 0);
  auto entry = [&](int64_t i) { return book[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return entry(i) < entry(j); });
  // Of equal ones the first.
  order.erase(std::unique(order.begin(), order.end(), [&](int64_t i, int64_t j) { return entry(i) == entry(j); }),
              order.end());
  std::vector<double> thresholds;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    thresholds.push_back(Threshold(x.type, entry(order[i]), entry(order[i + 1]), order[i + 1] < order[i]));
  }
  const Value rank = CountBelow(&b, x, std::move(thresholds));
  const bool sorted = std::is_sorted(order.begin(), order.end()) && order.back() + 1 == std::ssize(order);
  return sorted ? rank : b.Gather(b.Const(ElementType::kInt32, {std::ssize(order)}, order), rank);
}

// Of vectors, [rows, vector]: by the sum of squared differences, added from the first on.
Value NearestVectors(FunctionBuilder* builder, const Value& x, const std::vector<float>& book, int64_t vector) {
  FunctionBuilder& b = *builder;
  const int64_t rows = x.dims[0];
  const int64_t size = std::ssize(book) / vector;
  Value distances;
  for (int64_t i = 0; i < vector; ++i) {
    std::vector<double> entries;
    for (int64_t j = 0; j < size; ++j) entries.push_back(book[static_cast<size_t>(j * vector + i)]);
    const Value difference = b.Sub(b.Slice(x, 1, i, i + 1), b.Const(MakeFloats(x.type, {1, size}, entries)));
    const Value square = b.Mul(difference, difference);
    distances = i == 0 ? square : b.Add(distances, square);
  }
  // A tournament of neighbours, so that the lower index stays on the left.
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  Value indices = b.Const(ElementType::kInt32, {1, size}, all);
  while (distances.dims[1] > 1) {
    const int64_t n = distances.dims[1];
    auto every = [&](const Value& v, int64_t from) { return b.Slice(v, 1, from, n / 2 * 2, 2); };
    const Value right_wins = b.Less(every(distances, 1), every(distances, 0));
    Value nearer = b.Min(every(distances, 0), every(distances, 1));
    Value which = b.Where(right_wins, every(indices, 1), every(indices, 0));
    if (n % 2 != 0) {
      nearer = b.Concat({nearer, b.Slice(distances, 1, n - 1, n)}, 1);
      which = b.Concat({which, b.Expand(b.Slice(indices, 1, n - 1, n), {rows, 1})}, 1);
    }
    distances = nearer;
    indices = which;
  }
  return b.Expand(indices, {rows, 1});
}

// [n, bytes] of numbers whose digits to the base `base` are the rows of [n, count], the first the least significant.
Result<Value> NumbersOfDigits(EncoderWriter* writer, const Value& digits, int64_t base, int64_t bytes) {
  FunctionBuilder& b = writer->builder();
  const int64_t rows = digits.dims[0];
  const int64_t count = digits.dims[1];
  if (rows == 0) return b.Const(ElementType::kInt32, {0, bytes}, {});
  // In parts below 2^32: each times the base, and what is carried, is an INT64.
  if (base > (int64_t{1} << 30)) {
    return writer->NoEncoder(fmt::format("its indices are digits of base {}", base), "index_bits");
  }
  constexpr int64_t kPart = int64_t{1} << 32;
  std::vector<Value> parts(static_cast<size_t>((bytes + 3) / 4));
  const Value all = b.Cast(digits, ElementType::kInt64);
  for (int64_t i = count - 1; i >= 0; --i) {
    Value carry = b.Slice(all, 1, i, i + 1);
    for (size_t k = 0; k < parts.size(); ++k) {
      Value sum = carry;
      if (i < count - 1) sum = b.Add(b.Mul(parts[k], b.Scalar(ElementType::kInt64, base)), carry);
      parts[k] = k + 1 < parts.size() ? b.Mod(sum, kPart) : sum;
      carry = b.Div(sum, kPart);
    }
  }
  std::vector<Value> all_bytes;
  for (int64_t i = 0; i < bytes; ++i) {
    Value byte = parts[static_cast<size_t>(i / 4)];
    if (i % 4 != 0) byte = b.Div(byte, int64_t{1} << (8 * (i % 4)));
    all_bytes.push_back(b.Cast(b.Mod(byte, 256), ElementType::kInt32));
  }
  return b.Concat(all_bytes, 1);
}

}  // namespace

Result<void> StoreCodebook(EncoderWriter* writer, const Level& level, const Value& quotients) {
  FunctionBuilder& b = writer->builder();
  const auto& codebook = std::get<CodebookProfile>(level.profile->kind);
  if (codebook.num_codebooks > 1) {
    return writer->NoEncoder("which entries of several codebooks are added up is found by search",
                             "one codebook, or an encoder given with the type");
  }
  const std::vector<float>& book = codebook.codebook_data.values;
  const int64_t vector = codebook.vector_size;
  const int64_t batch = level.place.batch;
  const int64_t vectors = level.values / vector;
  if (vector > 1 && batch * vectors > kMostDistances / codebook.codebook_size) {
    return writer->NoEncoder(
        fmt::format("it would compare {} vectors with {} entries each", batch * vectors, codebook.codebook_size),
        "a smaller tensor");
  }
  const Value nearest = vector == 1 ? NearestNumbers(&b, quotients, book)
                                    : NearestVectors(&b, b.Reshape(quotients, {batch * vectors, vector}), book, vector);
  const Value indices = b.Reshape(nearest, {batch, vectors});
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(writer->Read(level.place.type)));
  const auto bits = static_cast<uint32_t>(codebook.index_bits);
  const int64_t per_group = codebook.packed_count;
  if (per_group == 0) return writer->StoreCodes(level.place, field, indices, bits);
  if (bits > 0) {
    writer->StoreGroups(level.place, field, indices, bits, per_group, codebook.packed_bytes);
    return {};
  }
  const int64_t groups = (vectors + per_group - 1) / per_group;
  const Value digits = b.Reshape(writer->PaddedTo(indices, groups * per_group), {batch * groups, per_group});
  TESSERA_ASSIGN(const Value bytes, NumbersOfDigits(writer, digits, codebook.codebook_size, codebook.packed_bytes));
  writer->Store(level.place, field, b.Reshape(bytes, {batch, groups * codebook.packed_bytes}), 8);
  return {};
}

Result<void> EncodeCodebook(EncoderWriter* writer, const Level& level, const Value& values) {
  const auto& codebook = std::get<CodebookProfile>(level.profile->kind);
  double largest = 0;
  for (float entry : codebook.codebook_data.values) largest = std::max(largest, std::abs(double{entry}));
  if (largest == 0 && std::holds_alternative<Stored>(codebook.scale)) {
    return writer->NoEncoder("all entries of its codebook are 0", "a codebook with other entries");
  }
  TESSERA_ASSIGN(const Value quotients, writer->Quotients(level, writer->WithoutNan(values), codebook.scale, largest));
  return StoreCodebook(writer, level, quotients);
}

}  // namespace tessera::encoders
