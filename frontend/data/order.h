// SPDX-License-Identifier: Apache-2.0
// Which rows are trained on, and in which order: a function of seed and epoch alone, the same on
// every platform, so that a run can be taken up at any step.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

struct Split {
  std::vector<int64_t> training;  // both ascending
  std::vector<int64_t> validation;
};

// Draws the validation rows: a share of them below 1 (rounded, at least one), or a number from 1
// on; 0 is none. InvalidArgument for other values, and where no row is left to train on.
absl::StatusOr<Split> SplitRows(int64_t size, double validation, uint64_t seed);

// The rows as an epoch visits them: a uniform shuffle.
std::vector<int64_t> EpochOrder(absl::Span<const int64_t> rows, uint64_t seed, int64_t epoch);

}  // namespace tartan::data
