// What values the elements of a lazy tensor of integers may have, as far as a short look at how they
// are computed tells. Internal to frontend/api.
#pragma once

#include <cstdint>

#include "frontend/api/tensor.h"

namespace tartan::api {

struct IntegerRange {
  int64_t least = 0;
  int64_t greatest = 0;
};

// Every element is within it; that of the type where nothing more is known. Requires integers or
// bools. Looks at a few applications at most.
IntegerRange RangeOf(const Tensor& tensor);

}  // namespace tartan::api
