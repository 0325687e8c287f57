// SPDX-License-Identifier: Apache-2.0
// Joins adjacent parameters to one tensor, which one kernel updates: an optimizer treats elements
// alike. A kernel for each parameter of a network takes longer to launch than to run. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

// A buffer of adjacent tensors.
struct SumBuffer {
  size_t first = 0;                // the first tensor
  std::vector<int64_t> positions;  // of the first elements of its tensors
  int64_t count = 0;               // number of elements, with gaps
  hal::BufferPtr memory;           // null until it is allocated
  size_t last_bucket = 0;          // of its tensors, if it has memory
};

// Divides tensors of these numbers of elements among buffers of at most `most` elements, or of one
// tensor. Positions are multiples of `unit`.
std::vector<SumBuffer> LayOutSums(absl::Span<const int64_t> counts, int64_t unit, int64_t most);

// True for optimizers without a norm over a parameter.
bool JoinsParameters(const Optimizer& optimizer);

// Divides parameters by the optimizer's factors. Keeps their order.
std::vector<std::vector<const Parameter*>> DivideByFactors(
    absl::Span<const Parameter* const> parameters);

// One parameter, without a name, for parameters of equal factors whose first elements are at these
// ascending positions in memory, from 0 on. It has the gaps between them, so that its elements at
// the gaps must be zeros.
Parameter Joined(absl::Span<const Parameter* const> parameters,
                 absl::Span<const int64_t> positions);

}  // namespace tartan::train
