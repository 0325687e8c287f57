// SPDX-License-Identifier: Apache-2.0
// Operations on the memory of NVIDIA GPUs of one host by copies from GPU to GPU. Copy engines move
// the bytes, so kernels compute meanwhile; NCCL's kernels alternate with OpenCL's. A
// kernel of OpenCL adds.
//
// Each rank has a box, memory that all ranks reach: a slot for each other rank, which copies
// elements there, and an outbox, from which the other ranks copy. Ranks meet through the host.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "distributed/device_transport.h"
#include "distributed/nccl/shared_device.h"

namespace tartan::distributed {

// Joins the GPUs of all ranks (JoinDevices). Unavailable on all ranks, with the reason, if ranks
// run on several hosts or on one device. The same if a rank has no libcuda.so.1, or a device that
// cannot share memory with CUDA and with the others.
absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinPeers(HostTransport& transport,
                                                           const hal::DevicePtr& device);

// The same with this device, or the reason why there is none. `box_bytes`: of each rank.
absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinPeers(
    HostTransport& transport, absl::StatusOr<std::unique_ptr<SharedDevice>> gpu, int64_t box_bytes);

}  // namespace tartan::distributed
