// SPDX-License-Identifier: Apache-2.0
// Marks kernels whose consecutive short launches a device may run as one: a launch batch on CPUs, a
// persistent kernel with grid barriers on GPUs. This saves a driver's microseconds per launch.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Marks the kernels of adjacent short launches (loop::Kernel::in_launch_batch). In a program that
// is run repeatedly, the last and the first launch count as adjacent. Does nothing on devices that
// do not run sequences, and for a GPU's program of too many kernels, or of launches that take much
// longer than to enqueue.
void MarkLaunchBatches(const HardwareSettings& settings, KernelList* list);

// Marks all suitable CPU kernels that many programs share, whatever steps are adjacent. The
// driver's compiler takes less time for one source of many kernels than for one source each.
void MarkAllForLaunchBatches(const HardwareSettings& settings, KernelList* list);

}  // namespace tartan::compiler
