// SPDX-License-Identifier: Apache-2.0
// An opened OpenCL device, the factory of buffers, executables, recordings and queues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/device/pinned_memory.h"
#include "hal/external_memory.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClDevice : public OpenClContext, public hal::MemoryImporter {
 public:
  // `cache` may be null. `quiet` suppresses warnings on stderr.
  static absl::StatusOr<hal::DevicePtr> Open(FoundDevice found, std::shared_ptr<DiskCache> cache,
                                             Calibrations calibrations, bool quiet);

  OpenClDevice(FoundDevice found, ContextHandle context, std::shared_ptr<DiskCache> cache,
               Calibrations calibrations, bool quiet)
      : OpenClContext(std::move(found), std::move(context), std::move(cache), calibrations, quiet),
        pinned_(std::make_shared<PinnedMemory>(this->context(), id())) {}

  absl::StatusOr<HardwareSettings> Settings(hal::Knowledge knowledge) override;
  bool Knows(hal::Knowledge knowledge) const override;

  // external_memory.cc
  std::string Uuid() const override;
  absl::StatusOr<hal::BufferPtr> Import(const hal::ExternalMemory& memory, int64_t size) override;
  bool IsPinned(const uint8_t* address) const override { return pinned_->IsUsed(address); }

 private:
  absl::StatusOr<hal::BufferPtr> ImportFromHost(const hal::ExternalMemory& memory, int64_t size);
  absl::StatusOr<hal::BufferPtr> DoAllocate(int64_t bytes) override;
  absl::StatusOr<hal::BufferPtr> DoSubBuffer(const hal::BufferPtr& parent, int64_t offset,
                                             int64_t size) override;
  absl::StatusOr<hal::BufferPtr> DoWrap(absl::Span<const uint8_t> bytes,
                                        std::shared_ptr<const void> owner) override;
  hal::HostMemory DoAllocateHost(int64_t bytes) override;
  absl::StatusOr<hal::ExecutablePtr> DoCompile(const hal::ExecutableSource& source) override;
  absl::StatusOr<hal::RecordingPtr> DoRecord(const hal::ExecutablePtr& executable,
                                             absl::Span<const hal::Launch> launches) override;
  absl::StatusOr<std::unique_ptr<hal::Queue>> DoCreateQueue(bool profiling) override;

  const std::shared_ptr<PinnedMemory> pinned_;
};

}  // namespace tartan::opencl
