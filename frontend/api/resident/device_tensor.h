// SPDX-License-Identifier: Apache-2.0
// Values that stay on a device: parameters and optimiser state in training, the cache of a decoder,
// batches that are used again. Device programs (device_program.h) read them and write them in
// place.
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

// A handle: copies refer to the same memory, which lives as long as one of them. Thread-safe; what
// is asked of it happens in the order of the calls, after the runs that were started before.
class DeviceTensor {
 public:
  DeviceTensor() = default;  // refers to nothing

  // Memory for a tensor of a type and sizes, with these values. ResourceExhausted where there is no
  // room for it.
  static absl::StatusOr<DeviceTensor> FromHost(const Device& device, const HostTensor& value);
  static absl::StatusOr<DeviceTensor> Zeros(const Device& device, const TensorShape& shape);

  bool defined() const { return memory_ != nullptr; }
  const TensorShape& shape() const;

  // A copy of the values, once all runs that were started before are done; a failure of theirs is
  // reported here.
  absl::StatusOr<HostTensor> ToHost() const;
  // Other values, of the same type and sizes: InvalidArgument for others, naming both.
  absl::Status Assign(const HostTensor& value);

  // --- For this folder.
  const hal::BufferPtr& buffer() const;

 private:
  struct Memory;
  explicit DeviceTensor(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  std::shared_ptr<Memory> memory_;
};

}  // namespace tartan::api
