// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend: every device of every OpenCL platform of the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend_opencl/device/calibration.h"
#include "hal/hal.h"

namespace tartan::opencl {

struct OpenClOptions {
  bool use_disk_cache = true;
  // Where compiled kernels are kept; empty: DefaultCacheDirectory() of disk_cache.h.
  std::string cache_directory;
  int64_t cache_limit_bytes = int64_t{512} << 20;
  // Tells on stderr, once, why the disk cache is not used where it cannot be.
  bool verbose = false;
  // Leaves out what is told on stderr else: that kernels do without compiler builtins, and that a
  // cache is not used because another user may write it.
  bool quiet = false;
  int64_t memory_limit_bytes = 0;  // the most that is taken of a device's memory; 0: all of it
  Calibrations calibrations = Calibrations::kStored;
};

// Compiles the format "opencl-c": OpenCL C 1.2. ListDevices is Unavailable, with the remedy, where
// no OpenCL platform is installed. The first ListDevices or Open of the process sets an environment
// variable while it asks for devices (pocl_folder.h): no other thread may then read the
// environment.
std::unique_ptr<hal::Driver> MakeOpenClDriver(const OpenClOptions& options = {});

}  // namespace tartan::opencl
