// SPDX-License-Identifier: Apache-2.0
// Predicted time of a GPU launch within a program.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Predicted microseconds of a launch. If the kernel may be part of a persistent megakernel, with
// the launch overhead there.
double LaunchMicroseconds(const PlannedKernel& kernel, const HardwareSettings& settings);

}  // namespace tartan::plan
