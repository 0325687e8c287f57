// SPDX-License-Identifier: Apache-2.0
// Entry point of the OpenCL backend: creates the driver for all devices of all OpenCL platforms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend_opencl/context/calibration.h"
#include "hal/hal.h"

namespace tartan::opencl {

struct OpenClOptions {
  bool use_disk_cache = true;
  // Folder of compiled kernels; empty: DefaultCacheDirectory() of disk_cache.h.
  std::string cache_directory;
  int64_t cache_limit_bytes = int64_t{512} << 20;
  // Reports on stderr, once, why the disk cache cannot be used.
  bool verbose = false;
  // Suppresses the warnings that kernels are built without compiler builtins and that a cache is
  // ignored because another user may write it.
  bool quiet = false;
  int64_t memory_limit_bytes = 0;  // upper bound of a device's used memory; 0: no bound
  Calibrations calibrations = Calibrations::kStored;
};

// Compiles the format "opencl-c": OpenCL C 1.2. ListDevices returns Unavailable, with the remedy,
// if no OpenCL platform is installed. The process's first ListDevices or Open temporarily sets an
// environment variable (pocl_folder.h), so no other thread may read the environment during that
// call.
std::unique_ptr<hal::Driver> MakeOpenClDriver(const OpenClOptions& options = {});

}  // namespace tartan::opencl
