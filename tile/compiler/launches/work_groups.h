// SPDX-License-Identifier: Apache-2.0
// Properties of a kernel's work-groups, derived from its statements.
#pragma once

#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

struct WorkGroups {
  bool wait = false;  // has barriers
  // Uses most of a compute unit's local memory; a launch sequence does not slow such groups down.
  bool fills_compute_unit = false;
  int64_t local_bytes = 0;
};

WorkGroups WorkGroupsOf(const loop::Kernel& kernel);

// Counts the work-items of one group.
int64_t ItemCount(const loop::Kernel& kernel);
int64_t GroupCount(const loop::Kernel& kernel);

}  // namespace tartan::compiler
