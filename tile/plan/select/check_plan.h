// SPDX-License-Identifier: Apache-2.0
// Checks whether a plan that comes from a file or from a test can be lowered for a kernel and
// device.
#pragma once

#include <string>

#include "tile/base/hardware_settings.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the reason why LowerKernel cannot generate a correct kernel from the plan, or why the
// device cannot run it; "" if there is none. `flat` is the kernel with its operands packed.
std::string ReasonInvalid(const poly::FlatContraction& flat, const CpuPlan& plan,
                          const HardwareSettings& settings);

// Returns whether poly::PackRead can pack `access` along `index` in blocks of `block` elements.
bool MayPack(const poly::FlatContraction& flat, int access, int index, int64_t block,
             const HardwareSettings& settings);

}  // namespace tartan::plan
