// SPDX-License-Identifier: Apache-2.0
// Options of lowering that are not part of the plan.
#pragma once

namespace tartan::lower {

struct LowerOptions {
  bool force_64bit_indices = false;
  // Ranges and strides are arguments of the kernel (loop::Kernel::sizes); its text is the same for
  // all sizes that the tiles fit. For kernels with a CpuPlan.
  bool size_arguments = false;
  // The outputs may be written in place over operands (plan::LaunchContext::copied_bytes).
  bool overwrites_operands = false;
};

}  // namespace tartan::lower
