// SPDX-License-Identifier: Apache-2.0
// Range analysis for the elements of a lazy tensor of integers, from a shallow look at its
// computation. Internal to frontend/api.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/api/tensor.h"
#include "tile/ir/program.h"

namespace tartan::api {

struct IntegerRange {
  int64_t least = 0;
  int64_t greatest = 0;
};

// A range that contains every element; the range of the type if nothing more is known. Requires
// integers or bools. Looks at a few applications only.
IntegerRange RangeOf(const Tensor& tensor);

// The range of the first output of a program whose integer and bool inputs are within `inputs`.
IntegerRange OutputRange(const ir::Program& program, std::vector<IntegerRange> inputs);

// The range from the minimum to the maximum element; the range of the type for an empty tensor.
IntegerRange RangeOf(const HostTensor& values);

}  // namespace tartan::api
