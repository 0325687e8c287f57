// SPDX-License-Identifier: Apache-2.0
// Tensors in device memory: parameters and optimiser state in training, the cache of a decoder,
// reused batches. Device programs (device_program.h) read them and update them in place.
//
//   TARTAN_ASSIGN_OR_RETURN(const auto weights, DeviceTensor::FromHost(*device, w));
//   TARTAN_ASSIGN_OR_RETURN(const HostTensor now, weights.ToHost());
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "hal/hal.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// A handle: copies share the same memory, which lives as long as one of them. Thread-safe;
// operations execute in call order, after all runs started earlier.
class DeviceTensor {
 public:
  DeviceTensor() = default;  // refers to nothing

  // Allocates a tensor with these values, or zeros. ResourceExhausted if there is not enough
  // memory.
  static absl::StatusOr<DeviceTensor> FromHost(const Device& device, const HostTensor& value);
  static absl::StatusOr<DeviceTensor> Zeros(const Device& device, const TensorShape& shape);

  // Makes a tensor of zeros from the bytes of `whole` after `offset`, a multiple of the device's
  // buffer_alignment. Other tensors may use other bytes. Requires an element or more.
  static absl::StatusOr<DeviceTensor> Within(const Device& device, const hal::BufferPtr& whole,
                                             int64_t offset, const TensorShape& shape);
  // Makes a tensor whose memory begins with the first byte of `buffer`, which may be larger, and
  // which other tensors may have, too. It begins with the values in the memory.
  static DeviceTensor At(const Device& device, hal::BufferPtr buffer, const TensorShape& shape);

  bool defined() const { return memory_ != nullptr; }
  const TensorShape& shape() const;

  // Copies the values to the host after all earlier runs, and reports their failures.
  absl::StatusOr<HostTensor> ToHost() const;
  // Overwrites the values. InvalidArgument, naming both, if type or shape differs.
  absl::Status Assign(const HostTensor& value);

  // --- For this folder and distributed.
  const hal::BufferPtr& buffer() const;

 private:
  struct Memory;
  explicit DeviceTensor(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  std::shared_ptr<Memory> memory_;
};

}  // namespace tartan::api
