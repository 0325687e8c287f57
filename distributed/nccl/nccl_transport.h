// SPDX-License-Identifier: Apache-2.0
// Operations on the memory of NVIDIA GPUs by NCCL, which is found at run time.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "distributed/device_transport.h"

namespace tartan::distributed {

// Joins the GPUs of all ranks (JoinDevices). Unavailable on all ranks, with the reason, if one of
// them has no libcuda.so.1, no libnccl.so.2, a device that cannot share memory with CUDA, or the
// device of another rank.
absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinNccl(HostTransport& transport,
                                                          const hal::DevicePtr& device);

}  // namespace tartan::distributed
