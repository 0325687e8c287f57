// SPDX-License-Identifier: Apache-2.0
// Compares two computations of the same scores or cache rows.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "frontend/generate/growing_state.h"

namespace tartan::generate {

// Tolerance for two computations, relative to the range of the values; empirical. It is larger for
// 16-bit caches, because a cache is rounded where the scores of a whole prompt are not.
double ToleranceOf(const std::vector<GrowingState>& states);

bool Agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance);

// Compares the rows of each state from `first` on.
bool RowsAgree(const std::vector<GrowingState>& states, absl::Span<const HostTensor> a,
               absl::Span<const HostTensor> b, int64_t first);

}  // namespace tartan::generate
