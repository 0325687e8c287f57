// SPDX-License-Identifier: Apache-2.0
// Generates random kernels with every kind of statement and expression on int32 and float32. Each
// work-item writes separate elements.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

enum class Literals {
  kAny,    // index arithmetic may overflow; for the interpreter only
  kSmall,  // index arithmetic does not overflow; data may
};

// Generates a kernel deterministically from a seed.
Kernel MakeRandomKernel(uint64_t seed, Literals literals);

// Returns buffers for any kernel of MakeRandomKernel: zeros as outputs, special values as inputs.
std::vector<std::vector<uint8_t>> MakeRandomKernelBuffers();

}  // namespace tartan::loop
