// SPDX-License-Identifier: Apache-2.0
// What a launch takes among others, as those of a model are.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Microseconds of a GPU: those that the plan predicts, where it may be in a sequence of launches
// with what a launch takes there.
double LaunchMicroseconds(const PlannedKernel& kernel, const HardwareSettings& settings);

}  // namespace tartan::plan
