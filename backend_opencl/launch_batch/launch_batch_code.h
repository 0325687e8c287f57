// SPDX-License-Identifier: Apache-2.0
// Calls a function from the host that a CPU's driver has compiled.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_opencl/launch_batch/launch_batch_source.h"

namespace tartan::opencl {

class LaunchBatchCode {
 public:
  // Returns an object for the function at an address reported by a kernel, or null if no loaded
  // library contains the address. Keeps that library loaded, since drivers may unload it at any
  // time.
  static std::unique_ptr<LaunchBatchCode> At(uint64_t address);
  ~LaunchBatchCode();
  LaunchBatchCode(const LaunchBatchCode&) = delete;
  LaunchBatchCode& operator=(const LaunchBatchCode&) = delete;

  // Calls the function with the default floating-point environment (rounding, subnormals), as in
  // the driver's threads.
  void Run(const LaunchBatchAddresses& places, int32_t end, uint32_t run, bool alone) const;

 private:
  LaunchBatchCode(void* library, LaunchBatchFunction function)
      : library_(library), function_(function) {}

  void* const library_;
  const LaunchBatchFunction function_;
};

}  // namespace tartan::opencl
