// SPDX-License-Identifier: Apache-2.0
// Launches of one work-group, as normalisations of one row are: while it runs, all other units
// wait, and then for its result.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Where launches of at most one group for each compute unit are all that read what a launch of one
// group gives, each of their groups computes it for itself, in local memory, and that launch is
// gone. On devices whose work-items are lanes (GPUs).
void RepeatInReaders(const HardwareSettings& settings, KernelList* list);

}  // namespace tartan::compiler
