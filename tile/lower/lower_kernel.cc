// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/lower_kernel.h"

#include "tile/lower/cpu/task_kernel.h"
#include "tile/lower/gpu/group_kernel.h"

namespace tartan::lower {

loop::Kernel LowerKernel(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                         const std::string& name, const LowerOptions& options) {
  return plan.group ? LowerGroupKernel(flat, *plan.group, name, options)
                    : LowerTaskKernel(flat, plan, name, options);
}

}  // namespace tartan::lower
