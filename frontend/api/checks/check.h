// SPDX-License-Identifier: Apache-2.0
// What integers that are known at run time only are held to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tartan::api {

struct Bounds {
  int64_t least = 0;  // at most 0
  int64_t greatest = 0;
  std::string place;  // "axis 0"; may be empty
};

// What integers are held to. Errors read "gather_3 (Gather, opset 13): index 99 is out of range
// [-10, 9] of axis 0".
struct Check {
  std::string node;
  std::string noun = "index";
  // One for all elements, or one for each along the last dimension.
  std::vector<Bounds> bounds;
  std::optional<int64_t> exempt;  // allowed besides
  // Of several checks that fail in one run, that of the least order is reported.
  int64_t order = 0;
};

}  // namespace tartan::api
