// SPDX-License-Identifier: Apache-2.0
// Lists the OpenCL devices of the machine and reads what they report.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend_opencl/device/driver_quirks.h"
#include "backend_opencl/device/opencl_api.h"
#include "hal/device_info.h"

namespace tartan::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_version;
  hal::DeviceInfo info;
  DriverQuirks quirks;
  // What HardwareSettings::matrix_local_bytes may be where the driver takes it
  // (features/local_memory_probe.h); 0: what it is.
  int64_t wanted_matrix_local_bytes = 0;
  // Compiler flags for every program as far as the driver's reports tell them, ending with a space
  // where there are any.
  std::string build_options;
};

// All devices of all platforms, in the order of the ICD loader. Unavailable with the remedy when
// there is no platform.
absl::StatusOr<std::vector<FoundDevice>> FindDevices();

}  // namespace tartan::opencl
