// SPDX-License-Identifier: Apache-2.0
// An opened OpenCL device with its context, and the memory it gives out.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/device_query.h"
#include "backend_opencl/device/opencl_api.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClDevice : public hal::Device {
 public:
  // `cache` may be null. `quiet`: warnings are not told on stderr.
  static absl::StatusOr<hal::DevicePtr> Open(FoundDevice found, std::shared_ptr<DiskCache> cache,
                                             bool quiet);

  OpenClDevice(FoundDevice found, ContextHandle context, std::shared_ptr<DiskCache> cache,
               bool quiet)
      : found_(std::move(found)),
        context_(std::move(context)),
        cache_(std::move(cache)),
        quiet_(quiet) {}

  const hal::DeviceInfo& info() const override { return found_.info; }
  hal::DeviceStatistics statistics() const override;

  cl_context context() const { return context_.get(); }
  cl_device_id id() const { return found_.device; }
  const std::string& platform_version() const { return found_.platform_version; }
  const DriverQuirks& quirks() const { return found_.quirks; }
  const std::string& build_options() const { return found_.build_options; }
  DiskCache* cache() const { return cache_.get(); }
  bool quiet() const { return quiet_; }
  // The driver has failed to build compiler builtins. SetPortable returns whether that is new.
  bool is_portable() const { return is_portable_; }
  bool SetPortable() { return !is_portable_.exchange(true); }

  // Counts memory given back.
  void CountReleased(int64_t bytes);
  // "1024 of 4096 bytes of the device are free".
  std::string FreeMemoryText() const;

 private:
  absl::StatusOr<hal::BufferPtr> DoAllocate(int64_t bytes) override;
  absl::StatusOr<hal::BufferPtr> DoSubBuffer(const hal::BufferPtr& parent, int64_t offset,
                                             int64_t size) override;
  absl::StatusOr<hal::BufferPtr> DoWrap(absl::Span<const uint8_t> bytes,
                                        std::shared_ptr<const void> owner) override;
  absl::StatusOr<hal::ExecutablePtr> DoCompile(const hal::ExecutableSource& source) override;
  absl::StatusOr<hal::RecordingPtr> DoRecord(const hal::ExecutablePtr& executable,
                                             absl::Span<const hal::Launch> launches) override;
  absl::StatusOr<std::unique_ptr<hal::Queue>> DoCreateQueue(bool profiling) override;

  // False, counting nothing, where the device has not as much memory left.
  bool CountAllocated(int64_t bytes);
  std::shared_ptr<OpenClDevice> Self();

  const FoundDevice found_;
  const ContextHandle context_;
  const std::shared_ptr<DiskCache> cache_;
  const bool quiet_;
  std::atomic<bool> is_portable_{false};
  mutable std::mutex mutex_;
  hal::DeviceStatistics statistics_;  // guarded by mutex_
};

class OpenClBuffer : public hal::Buffer {
 public:
  OpenClBuffer(std::shared_ptr<OpenClDevice> device, MemoryHandle memory, int64_t size);
  OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size);
  // Memory of the host that `owner` keeps.
  OpenClBuffer(std::shared_ptr<OpenClDevice> device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const void> owner);
  ~OpenClBuffer() override;

  cl_mem memory() const { return memory_.get(); }

 private:
  const std::shared_ptr<const void> owner_;  // outlives memory_; null for the device's own
  MemoryHandle memory_;
};

// The OpenCL object of a buffer, which hal has checked to be of this backend.
inline cl_mem MemoryOf(const hal::BufferPtr& buffer) {
  return static_cast<const OpenClBuffer&>(*buffer).memory();
}

}  // namespace tartan::opencl
