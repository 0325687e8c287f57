// SPDX-License-Identifier: Apache-2.0
// Lists the OpenCL devices of the machine with the properties that they report.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/device/features/driver_quirks.h"
#include "hal/device_info.h"

namespace tartan::opencl {

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_version;
  hal::DeviceInfo info;
  DriverQuirks quirks;
  // Value for HardwareSettings::matrix_local_bytes if the driver accepts it
  // (features/local_memory_probe.h). 0: keep the reported value.
  int64_t wanted_matrix_local_bytes = 0;
  // Compiler flags for every program, as far as they follow from reported properties. They end with
  // a space unless empty.
  std::string build_options;
};

// Returns all devices of all platforms, in the order of the ICD loader. Returns Unavailable with
// the remedy if there is no platform.
absl::StatusOr<std::vector<FoundDevice>> FindDevices();

}  // namespace tartan::opencl
