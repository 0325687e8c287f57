// SPDX-License-Identifier: Apache-2.0
// What a kernel's work-groups are like, as its statements tell.
#pragma once

#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

struct WorkGroups {
  bool wait = false;  // work-items of a group wait for each other
  // They take most of a unit's local memory, and are as quick there as by themselves.
  bool fill_unit = false;
  int64_t local_bytes = 0;
};

WorkGroups WorkGroupsOf(const loop::Kernel& kernel);

// Of one group.
int64_t ItemCount(const loop::Kernel& kernel);
int64_t GroupCount(const loop::Kernel& kernel);

}  // namespace tartan::compiler
