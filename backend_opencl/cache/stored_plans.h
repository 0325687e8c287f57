// SPDX-License-Identifier: Apache-2.0
// Stores tuned kernel plans of a device in the disk cache, as opaque bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backend_opencl/cache/disk_cache.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Returns the plans stored for a device with the same name, driver and number of compute units.
std::optional<std::string> LoadPlans(DiskCache& cache, const hal::DeviceInfo& info);

// Replaces the stored plans by change(plans), atomically (DiskCache::Update).
bool UpdatePlans(DiskCache& cache, const hal::DeviceInfo& info,
                 const std::function<std::string(std::optional<std::string>)>& change);

}  // namespace tartan::opencl
