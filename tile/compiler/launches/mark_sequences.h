// SPDX-License-Identifier: Apache-2.0
// Which launches devices may run one after the other as one: starting a launch takes a driver
// microseconds, and as long as the work itself where that is little.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Where the device runs sequences: marks the kernels of neighbouring steps that take little time
// (loop::Kernel:: in_sequence), of a program that is repeated those of the last and the first step,
// too. What the steps compute is the same.
void MarkSequences(const HardwareSettings& settings, KernelList* list);

// The same for a CPU's kernels that many programs share, whatever their neighbours are: a compiler
// takes less time for one kernel that holds many than for each of them.
void MarkAllForSequences(const HardwareSettings& settings, KernelList* list);

}  // namespace tartan::compiler
