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
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size);
  OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size);
  // Memory of the host that `owner` keeps.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
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
