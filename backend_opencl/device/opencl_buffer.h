// SPDX-License-Identifier: Apache-2.0
// Memory of an OpenCL device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backend_opencl/device/large_pages.h"
#include "backend_opencl/device/opencl_api.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClBuffer : public hal::Buffer {
 public:
  OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size);
  // Among what the device has allocated (OpenClContext::CountAllocated). `pages`: its memory; null
  // for the driver's own.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const LargePages> pages);
  // Of the host's memory, which `owner` keeps.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const void> owner);
  ~OpenClBuffer() override;

  hal::HostMemory host_memory() const override;
  cl_mem memory() const { return memory_.get(); }
  // Once it has been found out (address_probe.h): where kernels see the buffer. 0: not yet. Of
  // buffers that are no part of others.
  uint64_t address() const { return address_; }
  void SetAddress(uint64_t address) { address_ = address; }

 private:
  const std::shared_ptr<const LargePages> pages_;  // these outlive memory_
  const std::shared_ptr<const void> owner_;
  const bool is_counted_ = false;
  MemoryHandle memory_;
  std::atomic<uint64_t> address_{0};
};

// The OpenCL object of a buffer, which hal has checked to be of this backend.
inline cl_mem MemoryOf(const hal::BufferPtr& buffer) {
  return static_cast<const OpenClBuffer&>(*buffer).memory();
}

// Where kernels see a buffer or a part of one; 0: not known yet.
uint64_t AddressOf(const hal::BufferPtr& buffer);
// The same where it is the host's memory, too; else null.
uint8_t* HostPointer(const hal::BufferPtr& buffer);

}  // namespace tartan::opencl
