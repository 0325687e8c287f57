// SPDX-License-Identifier: Apache-2.0
// Bounds for integers that are known only at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tartan::api {

struct Bounds {
  int64_t least = 0;  // minimum; at most 0
  int64_t greatest = 0;
  std::string place;  // "axis 0"; may be empty
};

// A range check of a tensor of integers. Errors read "gather_3 (Gather, opset 13): index 99 is out
// of range [-10, 9] of axis 0".
struct Check {
  std::string node;
  std::string noun = "index";
  // One entry for all elements, or one per element of the last dimension.
  std::vector<Bounds> bounds;
  std::optional<int64_t> exempt;  // a value allowed outside the bounds
  // If several checks fail in one run, the check with the minimum order is reported.
  int64_t order = 0;
};

}  // namespace tartan::api
