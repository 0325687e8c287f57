// SPDX-License-Identifier: Apache-2.0
// What values the elements of a lazy tensor of integers may have, as far as a short look at how
// they are computed tells. Internal to frontend/api.
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

// Every element is within it; that of the type where nothing more is known. Requires integers or
// bools. Looks at a few applications at most.
IntegerRange RangeOf(const Tensor& tensor);

// Of the first output of a program whose inputs, integers and bools, are within `inputs`.
IntegerRange OutputRange(const ir::Program& program, std::vector<IntegerRange> inputs);

// From the least to the greatest element; that of the type where there is none.
IntegerRange RangeOf(const HostTensor& values);

}  // namespace tartan::api
