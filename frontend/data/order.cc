// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::data {
namespace {

// SplitMix64's finaliser (Steele, Lea, Flood, 2014): decorrelates adjacent seeds.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Uniform in [0, bound). std::uniform_int_distribution is not portable between libraries.
uint64_t Below(uint64_t bound, std::mt19937_64* random) {
  // 2^64 mod bound: accepting these values would favour small results
  const uint64_t rejected = -bound % bound;
  while (true) {
    const uint64_t value = (*random)();
    if (value >= rejected) return value % bound;
  }
}

// Fisher-Yates shuffle, from the end.
void Shuffle(uint64_t seed, std::vector<int64_t>* rows) {
  std::mt19937_64 random(seed);
  for (size_t i = rows->size(); i > 1; --i) std::swap((*rows)[i - 1], (*rows)[Below(i, &random)]);
}

}  // namespace

absl::StatusOr<Split> SplitRows(int64_t size, double validation, uint64_t seed) {
  const bool is_share = validation < 1;
  if (!(validation >= 0) || (!is_share && validation != std::floor(validation))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the validation data must be a share in [0, 1) or a whole number of examples, not ",
        validation));
  }
  double count = is_share ? std::round(validation * static_cast<double>(size)) : validation;
  if (validation > 0) count = std::max(count, 1.0);
  if (count >= static_cast<double>(size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "with ", count, " of ", size, " examples for validation, no example is left for training"));
  }
  std::vector<int64_t> rows(static_cast<size_t>(size));
  std::iota(rows.begin(), rows.end(), 0);
  const auto middle = rows.begin() + static_cast<int64_t>(count);
  if (count > 0) Shuffle(Mix(~seed), &rows);
  Split split{{middle, rows.end()}, {rows.begin(), middle}};
  std::sort(split.training.begin(), split.training.end());
  std::sort(split.validation.begin(), split.validation.end());
  return split;
}

std::vector<int64_t> EpochOrder(absl::Span<const int64_t> rows, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(rows.begin(), rows.end());
  Shuffle(Mix(Mix(seed) + static_cast<uint64_t>(epoch)), &order);
  return order;
}

}  // namespace tartan::data
