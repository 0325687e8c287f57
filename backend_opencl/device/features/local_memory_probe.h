// SPDX-License-Identifier: Apache-2.0
// Finds out whether NVIDIA's driver accepts kernels with more local memory than the reported 48
// KiB, up to the opt-in limit of CUDA. The test builds a kernel.
#pragma once

#include <cstdint>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/features/device_query.h"

namespace tartan::opencl {

// True if the driver builds a kernel with a local array of `bytes` bytes. The result is stored on
// disk per driver. `cache` may be null.
bool TakesLocalArray(cl_context context, const FoundDevice& found, int64_t bytes, DiskCache* cache);

// True if TakesLocalArray would return without building.
bool KnowsLocalArray(const FoundDevice& found, int64_t bytes, DiskCache* cache);

}  // namespace tartan::opencl
