// SPDX-License-Identifier: Apache-2.0
// Memory of an OpenCL device.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_opencl/device/opencl_api.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClBuffer : public hal::Buffer {
 public:
  // Among what the device has allocated (OpenClContext::CountAllocated).
  enum class Counted : uint8_t { kNo, kYes };

  OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size);
  // `owner` keeps what is the host's memory; null for the driver's own.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const void> owner, Counted counted);
  ~OpenClBuffer() override;

  cl_mem memory() const { return memory_.get(); }

 private:
  const std::shared_ptr<const void> owner_;  // outlives memory_
  const Counted counted_ = Counted::kNo;
  MemoryHandle memory_;
};

// The OpenCL object of a buffer, which hal has checked to be of this backend.
inline cl_mem MemoryOf(const hal::BufferPtr& buffer) {
  return static_cast<const OpenClBuffer&>(*buffer).memory();
}

}  // namespace tartan::opencl
