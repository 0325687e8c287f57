// SPDX-License-Identifier: Apache-2.0
// Time for memory: values that wait long for their next reader are given up and made again before
// it.
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Makes the list need at most `budget` bytes at a time: of what is there in any case, as states and
// constants, and of what a run needs more. By turns the values that are there where most is are
// looked at, and that is given up which takes least time for the bytes it saves; at last those are
// kept after all that others have made superfluous. Of several ways the one that takes least time
// is gone. What cannot be met is met as far as possible.
// The list tells what it costs.
void Recompute(int64_t budget, const HardwareSettings& settings, KernelList* list);

// Bytes of what is there whether a run is under way or not: states, constants, what is made of
// them.
int64_t ResidentBytes(const KernelList& list);

}  // namespace tartan::compiler
