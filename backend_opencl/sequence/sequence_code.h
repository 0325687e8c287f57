// SPDX-License-Identifier: Apache-2.0
// A function that a CPU's driver has compiled, which the host calls as well.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_opencl/sequence/sequence_source.h"

namespace tartan::opencl {

class SequenceCode {
 public:
  // Of the function at an address that a kernel has told. Keeps the library that holds it loaded,
  // which drivers unload when they like; null where it is in none.
  static std::unique_ptr<SequenceCode> At(uint64_t address);
  ~SequenceCode();
  SequenceCode(const SequenceCode&) = delete;
  SequenceCode& operator=(const SequenceCode&) = delete;

  // Calls it with the arithmetic of the driver's threads, whatever the caller's thread has set
  // (rounding, subnormals).
  void Run(const SequencePlaces& places, int32_t end, uint32_t run, bool alone) const;

 private:
  SequenceCode(void* library, SequenceFunction function) : library_(library), function_(function) {}

  void* const library_;
  const SequenceFunction function_;
};

}  // namespace tartan::opencl
