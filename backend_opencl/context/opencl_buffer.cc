// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/opencl_buffer.h"

#include <utility>

#include "backend_opencl/context/opencl_context.h"

namespace tartan::opencl {

OpenClBuffer::OpenClBuffer(hal::BufferPtr parent, MemoryHandle memory, int64_t offset, int64_t size)
    : Buffer(std::move(parent), offset, size), memory_(std::move(memory)) {}

OpenClBuffer::OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
                           std::shared_ptr<const HugePages> pages)
    : Buffer(std::move(device), size),
      pages_(std::move(pages)),
      is_counted_(true),
      memory_(std::move(memory)) {}

OpenClBuffer::OpenClBuffer(hal::DevicePtr device, MemoryHandle memory, int64_t size,
                           std::shared_ptr<const void> owner)
    : Buffer(std::move(device), size), owner_(std::move(owner)), memory_(std::move(memory)) {}

OpenClBuffer::~OpenClBuffer() {
  if (is_counted_) ContextOf(device()).CountReleased(size());
}

hal::HostMemory OpenClBuffer::host_memory() const {
  if (parent() != nullptr) {
    hal::HostMemory whole = parent()->host_memory();
    if (whole.owner == nullptr) return {};
    return {whole.bytes.subspan(offset(), size()), std::move(whole.owner)};
  }
  // A driver may use a copy of the memory; the address shows whether it does.
  if (pages_ == nullptr || address_ != reinterpret_cast<uintptr_t>(pages_->data())) return {};
  return {{static_cast<uint8_t*>(pages_->data()), static_cast<size_t>(size())}, pages_};
}

uint64_t AddressOf(const hal::BufferPtr& buffer) {
  const hal::Buffer& root = buffer->parent() == nullptr ? *buffer : *buffer->parent();
  const uint64_t address = static_cast<const OpenClBuffer&>(root).address();
  return address == 0 ? 0 : address + static_cast<uint64_t>(buffer->offset());
}

uint8_t* HostPointer(const hal::BufferPtr& buffer) {
  if (buffer->device()->info().type != hal::DeviceType::kCpu) return nullptr;
  return reinterpret_cast<uint8_t*>(AddressOf(buffer));  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace tartan::opencl
