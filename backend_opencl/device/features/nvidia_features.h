// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's GPUs can do beyond OpenCL, by their compute capability.
#pragma once

#include <cstdint>

namespace tartan::opencl {

// By which instructions kernels reach a matrix unit.
enum class MatrixInstructions : uint8_t {
  kNone,
  kWarps,       // mma.sync, which 32 work-items execute together: Ampere and later
  kWarpGroups,  // wgmma, which 128 do and which reads local memory by itself: Hopper alone
};

struct NvidiaFeatures {
  bool has_dot8 = false;    // dp4a: four products of 8-bit integers
  bool has_scopes = false;  // fences of a scope, barriers of a part of a work-group: Volta
  MatrixInstructions matrix = MatrixInstructions::kNone;
  int64_t matrix_rate = 0;       // HardwareSettings::matrix_rate
  int64_t most_local_bytes = 0;  // that CUDA gives a work-group on demand
};

// `capability`: major * 10 + minor; 0 for devices of others, which have none of it. Hopper's matrix
// unit is used by the instructions of warps with `by_warps`, as it is on other GPUs.
NvidiaFeatures NvidiaFeaturesOf(int capability, bool by_warps = false);

}  // namespace tartan::opencl
