// SPDX-License-Identifier: Apache-2.0
// Defines OpenCL C 1.2 as an output dialect of the kernel writer (tile/codegen).
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

struct OpenClDialectOptions {
  // The device has a fused multiply-add instruction. Without it, fma() is a slow function, and
  // MultiplyAdd is printed as a multiplication and an addition.
  bool has_fma = true;
  // The device is a CPU. Selects the form of vector loads and stores and of batched kernels.
  bool is_cpu = true;
};

codegen::Dialect OpenClDialect(const OpenClDialectOptions& options = {});

// Returns the dialect for a device with these settings.
codegen::Dialect DialectOf(const HardwareSettings& settings);

}  // namespace tartan::opencl
