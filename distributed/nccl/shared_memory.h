// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that CUDA and another interface see, at the same time.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/nccl/libraries.h"
#include "hal/external_memory.h"
#include "hal/hal.h"

namespace tartan::distributed {

// Memory in CUDA's addresses. It lives as long as this object, or a buffer or a file of it.
class SharedMemory {
 public:
  struct Made {
    hal::BufferPtr buffer;  // keeps `memory`
    std::shared_ptr<const SharedMemory> memory;
    int file = -1;  // for other processes; -1: none. The caller closes it.
  };
  // Makes `bytes` of memory of CUDA's device `number`, and imports it as a buffer of the same
  // device. `exports`: opens a file of it, too.
  static absl::StatusOr<Made> Make(const CudaLibrary& cuda, int number,
                                   hal::MemoryImporter& importer, int64_t bytes,
                                   bool exports = false);
  // Maps memory of another device, of which `file` is a file, for copies by device `number`. The
  // caller closes the file. Requires that the other process made `bytes` in the same way.
  static absl::StatusOr<std::shared_ptr<const SharedMemory>> Open(const CudaLibrary& cuda,
                                                                  int number, int file,
                                                                  int64_t bytes);
  ~SharedMemory();

  CudaAddress address() const { return address_; }

 private:
  explicit SharedMemory(const CudaLibrary& cuda) : cuda_(cuda) {}
  // Maps memory at new addresses, for access by device `number`. Releases the handle, because the
  // mapping keeps the memory.
  absl::Status Map(int number, CudaMemory memory);

  const CudaLibrary& cuda_;
  CudaAddress address_ = 0;  // 0: none
  size_t bytes_ = 0;
  bool is_mapped_ = false;
};

}  // namespace tartan::distributed
