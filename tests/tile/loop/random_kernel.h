// SPDX-License-Identifier: Apache-2.0
// Random kernels for tests: every kind of statement and expression on int32 and float32, every
// work-item writing elements of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

enum class Literals {
  kAny,    // index arithmetic may overflow, which is for the interpreter only
  kSmall,  // it does not; data still do
};

// Deterministic in the seed.
Kernel MakeRandomKernel(uint64_t seed, Literals literals);

// Buffers for any kernel of MakeRandomKernel: zeros for the outputs, special values as inputs.
std::vector<std::vector<uint8_t>> MakeRandomKernelBuffers();

}  // namespace tartan::loop
