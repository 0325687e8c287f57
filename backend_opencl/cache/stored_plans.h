// SPDX-License-Identifier: Apache-2.0
// The plans that tuning keeps for a device, as bytes in the disk cache.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backend_opencl/cache/disk_cache.h"
#include "hal/hal.h"

namespace tartan::opencl {

// What was kept for a device of this name, driver and number of compute units.
std::optional<std::string> LoadPlans(DiskCache& cache, const hal::DeviceInfo& info);

// Keeps what `change` makes of it, as DiskCache::Update does.
bool UpdatePlans(DiskCache& cache, const hal::DeviceInfo& info,
                 const std::function<std::string(std::optional<std::string>)>& change);

}  // namespace tartan::opencl
