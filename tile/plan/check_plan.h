// SPDX-License-Identifier: Apache-2.0
// Whether a kernel can be generated from a plan that the planner did not make just now.
#pragma once

#include <string>

#include "tile/base/hardware_settings.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// What keeps LowerKernel from making a right kernel of a plan, or the device
// from running it: "" or what is wrong. `flat` is the kernel with its operands packed.
std::string WhatIsWrong(const poly::FlatContraction& flat, const CpuPlan& plan,
                        const HardwareSettings& settings);

// Whether `access` of a kernel can be packed along `index` in blocks of that size.
bool MayPack(const poly::FlatContraction& flat, int access, int index, int64_t block,
             const HardwareSettings& settings);

}  // namespace tartan::plan
