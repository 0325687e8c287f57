// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/device_tensor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status FillWithZeros(DeviceQueue& queue, const hal::BufferPtr& buffer,
                           const TensorShape& shape) {
  const int64_t bytes = shape.byte_size();
  if (bytes == 0) return absl::OkStatus();
  const std::vector<uint8_t> zero(static_cast<size_t>(ByteWidth(shape.type)));
  return queue.Enqueue([&](hal::Queue& work) { return work.Fill(buffer, 0, bytes, zero); });
}

}  // namespace

struct DeviceTensor::Memory {
  TensorShape shape;
  hal::BufferPtr buffer;
  std::shared_ptr<DeviceQueue> queue;
};

absl::StatusOr<DeviceTensor> DeviceTensor::FromHost(const Device& device, const HostTensor& value) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<DeviceTensor> {
    const absl::Span<const uint8_t> bytes = value.bytes();
    auto memory = std::make_shared<Memory>();
    memory->shape = value.shape();
    memory->queue = device.queue();
    TARTAN_ASSIGN_OR_RETURN(memory->buffer, device.hal()->Allocate(std::max<int64_t>(
                                                1, static_cast<int64_t>(bytes.size()))));
    DeviceTensor tensor(std::move(memory));
    TARTAN_RETURN_IF_ERROR(tensor.Assign(value));
    return tensor;
  });
}

absl::StatusOr<DeviceTensor> DeviceTensor::Zeros(const Device& device, const TensorShape& shape) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<DeviceTensor> {
    TARTAN_RETURN_IF_ERROR(CheckShape(shape));
    auto memory = std::make_shared<Memory>();
    memory->shape = shape;
    memory->queue = device.queue();
    TARTAN_ASSIGN_OR_RETURN(memory->buffer,
                            device.hal()->Allocate(std::max<int64_t>(1, shape.byte_size())));
    TARTAN_RETURN_IF_ERROR(FillWithZeros(*memory->queue, memory->buffer, shape));
    return DeviceTensor(std::move(memory));
  });
}

absl::StatusOr<DeviceTensor> DeviceTensor::Within(const Device& device, const hal::BufferPtr& whole,
                                                  int64_t offset, const TensorShape& shape) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<DeviceTensor> {
    auto memory = std::make_shared<Memory>();
    memory->shape = shape;
    memory->queue = device.queue();
    TARTAN_ASSIGN_OR_RETURN(memory->buffer,
                            device.hal()->SubBuffer(whole, offset, shape.byte_size()));
    TARTAN_RETURN_IF_ERROR(FillWithZeros(*memory->queue, memory->buffer, shape));
    return DeviceTensor(std::move(memory));
  });
}

DeviceTensor DeviceTensor::At(const Device& device, hal::BufferPtr buffer,
                              const TensorShape& shape) {
  auto memory = std::make_shared<Memory>();
  memory->shape = shape;
  memory->buffer = std::move(buffer);
  memory->queue = device.queue();
  return DeviceTensor(std::move(memory));
}

const TensorShape& DeviceTensor::shape() const { return memory_->shape; }
const hal::BufferPtr& DeviceTensor::buffer() const { return memory_->buffer; }

absl::StatusOr<HostTensor> DeviceTensor::ToHost() const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<HostTensor> {
    auto bytes =
        std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(memory_->shape.byte_size()));
    TARTAN_RETURN_IF_ERROR(memory_->queue->Finish());
    if (!bytes->empty()) {
      TARTAN_RETURN_IF_ERROR(memory_->queue->Enqueue([&](hal::Queue& queue) {
        return queue.Read(memory_->buffer, 0, absl::MakeSpan(*bytes));
      }));
    }
    const absl::Span<const uint8_t> view = *bytes;
    return HostTensor(memory_->shape, view, std::move(bytes));
  });
}

absl::Status DeviceTensor::Assign(const HostTensor& value) {
  if (value.shape() != memory_->shape) {
    return absl::InvalidArgumentError(absl::StrCat("a value ", value.shape().ToString(),
                                                   " cannot be assigned to a device tensor ",
                                                   memory_->shape.ToString()));
  }
  if (value.bytes().empty()) return absl::OkStatus();
  return memory_->queue->Enqueue(
      [&](hal::Queue& queue) { return queue.Write(memory_->buffer, 0, value.bytes()); });
}

}  // namespace tartan::api
