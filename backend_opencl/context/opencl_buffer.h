// SPDX-License-Identifier: Apache-2.0
// Buffers in the memory of an OpenCL device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/huge_pages.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClBuffer : public hal::Buffer {
 public:
  OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size);
  // Creates a buffer that counts as allocated (OpenClContext::CountAllocated). `pages` holds its
  // memory; null if the driver allocated it.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const HugePages> pages);
  // Creates a buffer over host memory that `owner` keeps alive.
  OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
               std::shared_ptr<const void> owner);
  ~OpenClBuffer() override;

  hal::HostMemory host_memory() const override;
  cl_mem memory() const { return memory_.get(); }
  // Address of the buffer in kernels (address_probe.h); 0 until it is known. Only for buffers that
  // are not sub-buffers.
  uint64_t address() const { return address_; }
  void SetAddress(uint64_t address) { address_ = address; }

 private:
  const std::shared_ptr<const HugePages> pages_;  // pages_ and owner_ must outlive memory_
  const std::shared_ptr<const void> owner_;
  const bool is_counted_ = false;
  MemoryHandle memory_;
  std::atomic<uint64_t> address_{0};
};

// Returns the OpenCL object of a buffer. `hal` has checked that the buffer belongs to this backend.
inline cl_mem MemoryOf(const hal::BufferPtr& buffer) {
  return static_cast<const OpenClBuffer&>(*buffer).memory();
}

// Returns the address of a buffer or sub-buffer in kernels; 0 if it is not known yet.
uint64_t AddressOf(const hal::BufferPtr& buffer);
// Returns the same address as a host pointer on CPU devices, else null.
uint8_t* HostPointer(const hal::BufferPtr& buffer);

}  // namespace tartan::opencl
