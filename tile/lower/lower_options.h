// SPDX-License-Identifier: Apache-2.0
// What lowering is asked for beside the plan.
#pragma once

namespace tartan::lower {

struct LowerOptions {
  bool force_64bit_indices = false;
  // Ranges and strides are arguments of the kernel (loop::Kernel::sizes), and its text is the same
  // for all sizes that tiles fit into. Of kernels with a CpuPlan.
  bool size_arguments = false;
};

}  // namespace tartan::lower
