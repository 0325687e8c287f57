// SPDX-License-Identifier: Apache-2.0
// OpenCL C 1.2 as a dialect of kernel text.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

struct OpenClDialectOptions {
  // The device multiplies and adds in one instruction. Where it does not, fma() is a slow function
  // and MultiplyAdd is printed as a product and a sum.
  bool has_fma = true;
  // For how vectors are moved, and what kernels in sequences are functions of.
  bool is_cpu = true;
};

codegen::Dialect OpenClDialect(const OpenClDialectOptions& options = {});

// For the device of these settings.
codegen::Dialect DialectOf(const HardwareSettings& settings);

}  // namespace tartan::opencl
