// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/opencl_context.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backend_opencl/api/opencl_api.h"
#include "tile/base/process_limits.h"

namespace tartan::opencl {

hal::DeviceStatistics OpenClContext::statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return statistics_;
}

void OpenClContext::CountReleased(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  statistics_.allocated_bytes -= bytes;
}

bool OpenClContext::CountAllocated(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > info().memory_bytes - statistics_.allocated_bytes) return false;
  statistics_.allocated_bytes += bytes;
  statistics_.peak_allocated_bytes =
      std::max(statistics_.peak_allocated_bytes, statistics_.allocated_bytes);
  return true;
}

std::string OpenClContext::FreeMemoryText() const {
  const int64_t total = info().memory_bytes;
  const int64_t free = total - statistics().allocated_bytes;
  // The process's memory limit also limits a CPU device.
  const std::optional<MemoryLimit> limit = FindMemoryLimit();
  if (info().type == hal::DeviceType::kCpu && limit.has_value() && limit->left < free) {
    return limit->text;
  }
  return absl::StrCat(free, " of ", total, " bytes of ", info().name, " are free, ",
                      info().max_allocation_bytes, " at most in one allocation");
}

absl::Status OpenClContext::FinishIfEach(cl_command_queue queue, absl::string_view what) const {
  if (!info().finishes_each_launch) return absl::OkStatus();
  return ToStatus(CallCl(clFinish, queue), absl::StrCat("clFinish after ", what));
}

}  // namespace tartan::opencl
