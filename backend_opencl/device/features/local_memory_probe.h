// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver reports 48 KiB of local memory and takes kernels that declare more, as far as a
// CUDA program may opt in to, where it does so: that is asked by building one.
#pragma once

#include <cstdint>

#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/device_query.h"
#include "backend_opencl/device/opencl_api.h"

namespace tartan::opencl {

// Whether the driver builds a kernel with a local array of so many bytes; from the disk where this
// driver was asked before. `cache` may be null.
bool TakesLocalArray(cl_context context, const FoundDevice& found, int64_t bytes, DiskCache* cache);

// Whether TakesLocalArray answers without building.
bool KnowsLocalArray(const FoundDevice& found, int64_t bytes, DiskCache* cache);

}  // namespace tartan::opencl
