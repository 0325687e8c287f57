// SPDX-License-Identifier: Apache-2.0
// Whether two ways to the same numbers came to the same.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "frontend/generate/growing_state.h"

namespace tartan::generate {

// Of the range of the numbers: what two ways may differ by. In 16 bits a cache is rounded where the
// scores of a whole prompt were not.
double ToleranceOf(const std::vector<GrowingState>& states);

bool Agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance);

// Rows of each state from `first` on.
bool RowsAgree(const std::vector<GrowingState>& states, absl::Span<const HostTensor> a,
               absl::Span<const HostTensor> b, int64_t first);

}  // namespace tartan::generate
