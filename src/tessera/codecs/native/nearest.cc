#include "tessera/codecs/native/nearest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera::native {
namespace {

constexpr size_t kBeam = 16;
constexpr int kSweeps = 8;

// Less than 0 where x is nearer to `low`, more where it is nearer to `high`: 2 x against low + high, exactly.
double Side(double x, double low, double high) {
  const double sum = low + high;
  const double part = sum - low;
  const double rest = (low - (sum - part)) + (high - part);
  const double difference = 2 * x - sum;
  return difference != 0 ? difference : -rest;
}

}  // namespace

NearestEntry::NearestEntry(const Arithmetic& arithmetic, std::span<const float> entries, size_t vector)
    : arithmetic_(arithmetic), entries_(entries.begin(), entries.end()), vector_(vector) {
  if (vector != 1) return;
  ascending_.resize(entries_.size());
  std::iota(ascending_.begin(), ascending_.end(), 0U);
  std::stable_sort(ascending_.begin(), ascending_.end(),
                   [&](uint32_t a, uint32_t b) { return entries_[a] < entries_[b]; });
  ascending_.erase(std::unique(ascending_.begin(), ascending_.end(),
                               [&](uint32_t a, uint32_t b) { return entries_[a] == entries_[b]; }),
                   ascending_.end());
}

uint32_t NearestEntry::FindNumber(double x) const {
  // The first entry that is not below x, and the one before.
  const auto above = std::lower_bound(ascending_.begin(), ascending_.end(), x, [&](uint32_t i, double value) {
    return static_cast<double>(entries_[i]) < value;
  });
  if (above == ascending_.end()) return ascending_.back();
  if (above == ascending_.begin()) return *above;
  const uint32_t below = *(above - 1);
  const double side = Side(x, entries_[below], entries_[*above]);
  if (side == 0) return std::min(below, *above);
  return side < 0 ? below : *above;
}

uint32_t NearestEntry::Find(std::span<const double> x) const {
  if (vector_ == 1) return FindNumber(x[0]);
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t entry = 0; entry < entries_.size() / vector_; ++entry) {
    double sum = 0;
    for (size_t i = 0; i < vector_; ++i) {
      const double difference = arithmetic_.Round(x[i] - static_cast<double>(entries_[entry * vector_ + i]));
      const double square = arithmetic_.Round(difference * difference);
      sum = i == 0 ? square : arithmetic_.Round(sum + square);
    }
    if (sum < least) {
      least = sum;
      best = static_cast<uint32_t>(entry);
    }
  }
  return best;
}

NearestSum::NearestSum(std::span<const float> entries, size_t books, size_t size, size_t vector)
    : entries_(entries), books_(books), size_(size), vector_(vector) {}

double NearestSum::Distance(std::span<const double> rest, size_t book, size_t entry) const {
  const std::span<const float> numbers = entries_.subspan((book * size_ + entry) * vector_, vector_);
  double sum = 0;
  for (size_t i = 0; i < vector_; ++i) {
    const double difference = rest[i] - static_cast<double>(numbers[i]);
    sum += difference * difference;
  }
  return sum;
}

void NearestSum::Take(size_t book, size_t entry, double sign, std::vector<double>* rest) const {
  const std::span<const float> numbers = entries_.subspan((book * size_ + entry) * vector_, vector_);
  for (size_t i = 0; i < vector_; ++i) (*rest)[i] -= sign * static_cast<double>(numbers[i]);
}

std::vector<uint32_t> NearestSum::Find(std::span<const double> x) const {
  struct Partial {
    std::vector<uint32_t> indices;
    std::vector<double> rest;  // of x
  };
  struct Candidate {
    double distance;
    size_t from;
    uint32_t entry;
  };
  std::vector<Partial> beam = {{{}, {x.begin(), x.end()}}};
  for (size_t book = 0; book < books_; ++book) {
    std::vector<Candidate> candidates;
    for (size_t from = 0; from < beam.size(); ++from) {
      for (size_t entry = 0; entry < size_; ++entry) {
        candidates.push_back({Distance(beam[from].rest, book, entry), from, static_cast<uint32_t>(entry)});
      }
    }
    // Made in the order of beam and entry, which stays where distances are equal. Those of infinity come last.
    const size_t keep = std::min(book + 1 == books_ ? 1 : kBeam, candidates.size());
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(keep), candidates.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return std::tie(a.distance, a.from, a.entry) < std::tie(b.distance, b.from, b.entry);
                      });
    std::vector<Partial> next;
    for (size_t i = 0; i < keep; ++i) {
      Partial partial = beam[candidates[i].from];
      partial.indices.push_back(candidates[i].entry);
      Take(book, candidates[i].entry, 1, &partial.rest);
      next.push_back(std::move(partial));
    }
    beam = std::move(next);
  }
  std::vector<uint32_t> indices = std::move(beam.front().indices);
  std::vector<double> rest = std::move(beam.front().rest);
  bool nearer = true;
  for (int sweep = 0; sweep < kSweeps && nearer; ++sweep) {
    nearer = false;
    for (size_t book = 0; book < books_; ++book) {
      Take(book, indices[book], -1, &rest);
      double least = Distance(rest, book, indices[book]);
      for (size_t entry = 0; entry < size_; ++entry) {
        const double distance = Distance(rest, book, entry);
        if (distance >= least) continue;
        least = distance;
        indices[book] = static_cast<uint32_t>(entry);
        nearer = true;
      }
      Take(book, indices[book], 1, &rest);
    }
  }
  return indices;
}

}  // namespace tessera::native
