// SPDX-License-Identifier: Apache-2.0
// Context of a launch: facts besides its kernel that the planners use.
#pragma once

#include <vector>

namespace tartan::plan {

struct LaunchContext {
  // Per tensor of the kernel: it is a load-time constant, so a packed copy can be made once.
  std::vector<bool> is_constant = {};
  // Bytes of an extra copy that is needed if a plan writes an element more than once. Such outputs
  // cannot be written in place over their inputs (compiler/update_in_place.h).
  double copied_bytes = 0;
  // All data of a run stays in the L2 cache until the next run. Set only where plans depend on it.
  bool stays_in_cache = false;
};

}  // namespace tartan::plan
