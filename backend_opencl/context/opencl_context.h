// SPDX-License-Identifier: Apache-2.0
// State of an opened OpenCL device that programs, buffers and queues share: its context, its
// settings and its memory accounting.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/context/device_knowledge.h"
#include "backend_opencl/device/features/device_query.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Base class of OpenClDevice, which creates buffers, executables and queues.
class OpenClContext : public hal::Device {
 public:
  const hal::DeviceInfo& info() const override { return found_.info; }
  hal::DeviceStatistics statistics() const override;

  cl_context context() const { return context_.get(); }
  cl_device_id id() const { return found_.device; }
  const std::string& platform_version() const { return found_.platform_version; }
  const DriverQuirks& quirks() const { return found_.quirks; }
  // Compiler flags of every program. Requests the compiler's features first.
  const std::string& build_options() { return knowledge_.Compiler(context()).build_options; }
  DiskCache* cache() const { return cache_.get(); }
  bool quiet() const { return quiet_; }
  // Debugging aid (hal::DeviceInfo::finishes_each_launch): waits for the command enqueued last.
  // `what` names the command in an error.
  absl::Status FinishIfEach(cl_command_queue queue, absl::string_view what) const;
  // is_portable(): the driver failed to build compiler builtins. SetPortable returns true for the
  // first call.
  bool is_portable() const { return is_portable_; }
  bool SetPortable() { return !is_portable_.exchange(true); }

  // Returns true if AllocateHost returned memory with this address that is still used.
  virtual bool IsPinned(const uint8_t* address) const = 0;

  // Adds `bytes` to the allocated memory. Returns false and adds nothing if the device has less
  // memory left.
  bool CountAllocated(int64_t bytes);
  // Subtracts released memory.
  void CountReleased(int64_t bytes);
  // "1024 of 4096 bytes of the device are free".
  std::string FreeMemoryText() const;

 protected:
  OpenClContext(FoundDevice found, ContextHandle context, std::shared_ptr<DiskCache> cache,
                Calibrations calibrations, bool quiet)
      : found_(std::move(found)),
        context_(std::move(context)),
        cache_(std::move(cache)),
        quiet_(quiet),
        knowledge_(found_, cache_, calibrations) {}

  const FoundDevice& found() const { return found_; }
  const std::shared_ptr<DiskCache>& shared_cache() const { return cache_; }
  DeviceKnowledge& knowledge() { return knowledge_; }
  const DeviceKnowledge& knowledge() const { return knowledge_; }

 private:
  const FoundDevice found_;
  const ContextHandle context_;
  const std::shared_ptr<DiskCache> cache_;
  const bool quiet_;
  DeviceKnowledge knowledge_;
  std::atomic<bool> is_portable_{false};
  mutable std::mutex mutex_;
  hal::DeviceStatistics statistics_;  // guarded by mutex_
};

// Returns the device of an object. `hal` has checked that the object belongs to this backend.
inline OpenClContext& ContextOf(const hal::DevicePtr& device) {
  return static_cast<OpenClContext&>(*device);
}

}  // namespace tartan::opencl
