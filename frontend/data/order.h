// SPDX-License-Identifier: Apache-2.0
// Selects the training rows and their order. Both are functions of seed and epoch only, the same on
// every platform, so that a run can be resumed at any step.
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

// Draws the validation rows: a share if `validation` is below 1 (rounded, one row or more), a
// number from 1 on; 0 means none. InvalidArgument for other values, and if no row is left for
// training.
absl::StatusOr<Split> SplitRows(int64_t size, double validation, uint64_t seed);

// A uniform shuffle of the rows for an epoch.
std::vector<int64_t> EpochOrder(absl::Span<const int64_t> rows, uint64_t seed, int64_t epoch);

}  // namespace tartan::data
