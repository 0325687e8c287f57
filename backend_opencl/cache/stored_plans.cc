// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/stored_plans.h"

#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

std::string KeyOf(const hal::DeviceInfo& info) {
  return absl::StrCat("plans\n", info.platform, "\n", info.name, "\n", info.driver_version, "\n",
                      info.settings.compute_units, "\n", info.settings.vector_width);
}

}  // namespace

std::optional<std::string> LoadPlans(DiskCache& cache, const hal::DeviceInfo& info) {
  return cache.Load(KeyOf(info));
}

bool UpdatePlans(DiskCache& cache, const hal::DeviceInfo& info,
                 const std::function<std::string(std::optional<std::string>)>& change) {
  return cache.Update(KeyOf(info), change);
}

}  // namespace tartan::opencl
