// SPDX-License-Identifier: Apache-2.0
// Converts the properties that an OpenCL device reports into settings for kernel planning.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backend_opencl/device/features/cpu_features.h"
#include "hal/device_info.h"
#include "tile/base/hardware_settings.h"

namespace tartan::opencl {

// Properties as the driver reports them; zero or false if it does not.
struct ReportedHardware {
  hal::DeviceType type = hal::DeviceType::kOther;
  int64_t compute_units = 0;
  int64_t clock_mhz = 0;
  int64_t max_work_group_size = 0;
  std::array<int64_t, 3> max_work_item_sizes = {0, 0, 0};
  int64_t native_float_vector_width = 0;
  int64_t preferred_float_vector_width = 0;
  bool local_memory_is_dedicated = false;  // CL_LOCAL
  int64_t local_memory_bytes = 0;
  int64_t cache_bytes = 0;  // global memory cache: by convention L2 on GPUs, L3 on CPUs
  int64_t cache_line_bytes = 0;
  // Caches of the host's processor according to the operating system; for CPU devices only.
  int64_t host_l1_bytes = 0;
  int64_t host_l2_bytes = 0;
  bool has_float16 = false;
  bool has_float64 = false;
  bool has_dot8 = false;  // dp4a: multiplies and adds four 8-bit pairs in one instruction
};

// Returns usable settings for any input: every size is >= 1, and missing or implausible
// values are replaced by safe values for the type of device.
HardwareSettings SettingsFor(const ReportedHardware& reported);

// Corrects the settings of a CPU device for the compiler's target, which may differ from the
// reported processor. With an unknown compiler, packed integer multiply-adds are disabled, because
// their instructions must be named explicitly.
void FollowCpu(const CompilerFeatures& compiler, const HostFeatures& host,
               HardwareSettings* settings);

// Returns the macro definitions for programs (dot_functions.h), ending with a space unless empty.
std::string CpuBuildOptions(const CompilerFeatures& compiler, const HostFeatures& host);

}  // namespace tartan::opencl
