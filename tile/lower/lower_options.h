// SPDX-License-Identifier: Apache-2.0
// What lowering is asked for beside the plan.
#pragma once

namespace tartan::lower {

struct LowerOptions {
  bool force_64bit_indices = false;
};

}  // namespace tartan::lower
