// SPDX-License-Identifier: Apache-2.0
// Calls a function from the host that a CPU's driver has compiled.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_opencl/sequence/sequence_source.h"

namespace tartan::opencl {

class SequenceCode {
 public:
  // Returns an object for the function at an address reported by a kernel, or null if no loaded
  // library contains the address. Keeps that library loaded, since drivers may unload it at any
  // time.
  static std::unique_ptr<SequenceCode> At(uint64_t address);
  ~SequenceCode();
  SequenceCode(const SequenceCode&) = delete;
  SequenceCode& operator=(const SequenceCode&) = delete;

  // Calls the function with the default floating-point environment (rounding, subnormals), as in
  // the driver's threads.
  void Run(const SequencePlaces& places, int32_t end, uint32_t run, bool alone) const;

 private:
  SequenceCode(void* library, SequenceFunction function) : library_(library), function_(function) {}

  void* const library_;
  const SequenceFunction function_;
};

}  // namespace tartan::opencl
