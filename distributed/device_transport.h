// SPDX-License-Identifier: Apache-2.0
// Collective operations on device memory without the host. HostCommunicator prefers them for memory
// that the transport made.
//
// Calls block, as in HostTransport. One thread makes all calls, after JoinDevices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/communicator.h"
#include "distributed/host_transport.h"
#include "hal/hal.h"
#include "tile/base/data_type.h"

namespace tartan::distributed {

class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  virtual absl::StatusOr<hal::BufferPtr> Allocate(int64_t bytes) = 0;
  // True for memory of Allocate, and parts of it.
  virtual bool Has(const hal::Buffer& buffer) const = 0;
  // True if kernels of the device compute while an operation proceeds.
  virtual bool OverlapsKernels() const = 0;

  // The operations of Communicator on ranges of such memory, whose earlier work has finished.
  virtual absl::Status AllReduce(const Range& range, DataType type) = 0;
  virtual absl::Status AllGather(const Range& from, const Range& to) = 0;
  virtual absl::Status ReduceScatter(const Range& from, const Range& to, DataType type) = 0;
  virtual absl::Status Broadcast(const Range& range, int64_t root) = 0;
  virtual absl::Status Send(const Range& range, int64_t to) = 0;
  virtual absl::Status Receive(const Range& range, int64_t from) = 0;
};

// Joins the devices of all ranks, which talk through `transport` meanwhile and which outlives the
// result. Null, on all ranks, if operations shall go through the host. An error ends the run.
using JoinDevices = std::function<absl::StatusOr<std::unique_ptr<DeviceTransport>>(
    HostTransport& transport, const hal::DevicePtr& device)>;

}  // namespace tartan::distributed
