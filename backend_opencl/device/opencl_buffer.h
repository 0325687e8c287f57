// SPDX-License-Identifier: Apache-2.0
// Memory of an OpenCL device.
#pragma once

#include <atomic>
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
  // Once it has been found out (address_probe.h): where kernels see the buffer. 0: not yet. Of
  // buffers that are no part of others.
  uint64_t address() const { return address_; }
  void SetAddress(uint64_t address) { address_ = address; }

 private:
  const std::shared_ptr<const void> owner_;  // outlives memory_
  const Counted counted_ = Counted::kNo;
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
