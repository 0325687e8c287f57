// SPDX-License-Identifier: Apache-2.0
// Capabilities of NVIDIA GPUs beyond OpenCL, by compute capability.
#pragma once

#include <cstdint>

namespace tartan::opencl {

// Instruction set for tensor cores.
enum class MatrixInstructions : uint8_t {
  kNone,
  kWarps,       // mma.sync, executed by the 32 lanes of a warp: Ampere and later
  kWarpGroups,  // wgmma, executed by 128 lanes with operands in local memory: Hopper only
};

struct NvidiaFeatures {
  bool has_dot8 = false;    // dp4a: multiplies and adds four pairs of 8-bit integers
  bool has_scopes = false;  // scoped fences and barriers for part of a work-group: Volta and later
  MatrixInstructions matrix = MatrixInstructions::kNone;
  int64_t matrix_rate = 0;      // HardwareSettings::matrix_rate
  int64_t max_local_bytes = 0;  // CUDA's opt-in limit of local memory per work-group
};

// `capability` is 10 * major + minor, or 0 for devices of other vendors, which have none of these
// features. `by_warps` selects mma.sync on Hopper, too.
NvidiaFeatures NvidiaFeaturesOf(int capability, bool by_warps = false);

}  // namespace tartan::opencl
