// SPDX-License-Identifier: Apache-2.0
// CUDA's functions on host memory: memory is a file in memory, and its mapping an address of the
// host. A CPU device of OpenCL reads and writes the same bytes. Every rank of a test has a device.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "distributed/nccl/libraries.h"
#include "hal/external_memory.h"
#include "hal/hal.h"

namespace tartan::distributed {

// The functions, with as many devices as a byte has values. Device n has the UUID UuidOf(n).
const CudaLibrary& FakeCuda();
std::string UuidOf(int64_t device);

// Faults of the functions.
struct FakeFaults {
  bool no_peer_access = false;
  int64_t failing_copy = -1;  // this copy, counted from 0 over all devices, fails
  bool loses_copies = false;
};
// Replaces the faults, and the count of copies. No call may be in progress.
void SetFaults(const FakeFaults& faults);

// A CPU device with the UUID of one of the fake's devices.
class FakeImporter : public hal::MemoryImporter {
 public:
  FakeImporter(hal::DevicePtr device, int64_t number)
      : device_(std::move(device)), number_(number) {}
  std::string Uuid() const override { return UuidOf(number_); }
  absl::StatusOr<hal::BufferPtr> Import(const hal::ExternalMemory& memory, int64_t size) override {
    return dynamic_cast<hal::MemoryImporter&>(*device_).Import(memory, size);
  }

 private:
  const hal::DevicePtr device_;
  const int64_t number_;
};

}  // namespace tartan::distributed
