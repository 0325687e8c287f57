// SPDX-License-Identifier: Apache-2.0
// Joins adjacent parameters to one tensor, which one kernel updates: an optimizer treats elements
// alike. A kernel for each parameter of a network takes longer to launch than to run. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

struct UpdateSpan {
  Parameter parameter;  // of one dimension, with the factors of its parameters
  int64_t offset = 0;   // bytes
};

// True for optimizers without a norm over a parameter.
bool JoinsParameters(const Optimizer& optimizer);

// The spans of parameters that are in memory at these ascending offsets in bytes. A span has the
// gaps between its parameters, so that its elements at the gaps must be zeros.
std::vector<UpdateSpan> SpansOf(absl::Span<const Parameter* const> parameters,
                                absl::Span<const int64_t> offsets);

}  // namespace tartan::train
