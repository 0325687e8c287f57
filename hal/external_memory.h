// SPDX-License-Identifier: Apache-2.0
// Buffers of memory that another interface of the same device made, such as CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hal/hal.h"

namespace tartan::hal {

struct ExternalMemory {
  int file = -1;                      // POSIX file descriptor of the memory
  int64_t bytes = 0;                  // size of the memory
  std::shared_ptr<const void> owner;  // lives as long as the buffer
};

// A device that may import memory also implements this interface; dynamic_cast finds it. Writes of
// one interface are seen by work of the other that starts after the host has waited for them.
class MemoryImporter {
 public:
  virtual ~MemoryImporter() = default;
  // The 16 bytes that identify the device in all interfaces; empty if the driver has none.
  virtual std::string Uuid() const = 0;
  // Returns a buffer of the first `size` bytes. Closes the file later if it succeeds. Unimplemented
  // if the driver imports no memory; ResourceExhausted if it exceeds the limit of the device.
  virtual absl::StatusOr<BufferPtr> Import(const ExternalMemory& memory, int64_t size) = 0;
};

}  // namespace tartan::hal
