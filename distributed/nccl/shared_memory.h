// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that CUDA and another interface see, at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "distributed/nccl/libraries.h"
#include "hal/hal.h"

namespace tartan::distributed {

// Memory in CUDA's addresses. It lives as long as this object or the buffer.
class SharedMemory {
 public:
  // Makes `bytes` of memory of CUDA's device `number`, and imports it as a buffer of `device`,
  // which is the same one. The buffer keeps the memory.
  static absl::StatusOr<std::pair<hal::BufferPtr, std::shared_ptr<const SharedMemory>>> Make(
      const CudaLibrary& cuda, int number, const hal::DevicePtr& device, int64_t bytes);
  ~SharedMemory();

  CudaAddress address() const { return address_; }

 private:
  explicit SharedMemory(const CudaLibrary& cuda) : cuda_(cuda) {}
  // Reserves addresses, makes memory, maps it there, and returns its file.
  absl::StatusOr<int> Fill(int number, size_t bytes);

  const CudaLibrary& cuda_;
  CudaAddress address_ = 0;  // 0: none
  size_t bytes_ = 0;
  bool is_mapped_ = false;
};

// Returns the number of CUDA's device that `device` is. Unavailable if it is none, or if it cannot
// import memory.
absl::StatusOr<int> CudaNumberOf(const CudaLibrary& cuda, const hal::DevicePtr& device);

}  // namespace tartan::distributed
