// SPDX-License-Identifier: Apache-2.0
// What an OpenCL device reports of itself, made into settings that kernels can be planned with.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backend_opencl/device/features/cpu_features.h"
#include "hal/device_info.h"
#include "tile/base/hardware_settings.h"

namespace tartan::opencl {

// As the driver answered; zero (false) where it did not.
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
  int64_t cache_bytes = 0;  // global memory cache: L2 on GPUs, L3 on CPUs by custom
  int64_t cache_line_bytes = 0;
  // Of the host's processor, from the operating system; asked for CPU devices only.
  int64_t host_l1_bytes = 0;
  int64_t host_l2_bytes = 0;
  bool has_float16 = false;
  bool has_float64 = false;
  bool has_dot8 = false;  // four products of 8-bit numbers added up by one instruction
};

// Never unusable: every size is at least 1, and a value that is missing or odd is replaced by one
// that is safe on all hardware of the type.
HardwareSettings SettingsFor(const ReportedHardware& reported);

// Corrects the settings of a CPU device, once its compiler can be asked: what a driver reports of
// the processor need not be what it compiles for. A compiler that is unknown gets no products in
// words, for which its instructions must be called by name.
void FollowCpu(const CompilerFeatures& compiler, const HostFeatures& host,
               HardwareSettings* settings);

// What programs must be told then (dot_functions.h), ending with a space where it is anything.
std::string CpuBuildOptions(const CompilerFeatures& compiler, const HostFeatures& host);

}  // namespace tartan::opencl
