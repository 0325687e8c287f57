// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/nvidia_features.h"

namespace tartan::opencl {
namespace {

constexpr int kPascalWithDp4a = 61;
constexpr int kVolta = 70;
constexpr int kAmpere = 80;
constexpr int kHopper = 90;

// Multiply-adds of 16-bit floats per cycle and compute unit, with float32 accumulation, using
// mma.sync. GPUs that could do 1024 or more are limited by local memory, because each warp loads
// all columns: an H100 reaches 640 of its 2048 (278 TFLOP/s). Other rates are from data sheets.
// Gaming boards have half the rate of professional boards with the same capability (8.6, 8.9, 12.0)
// and cannot be distinguished, so the lower rate is used.
int64_t RateOfWarps(int capability) {
  constexpr int64_t kByLocalMemory = 640;
  constexpr int64_t kOfGames = 256;
  switch (capability) {
    case 80:   // A100
    case 90:   // H100
    case 100:  // B200
    case 103:
      return kByLocalMemory;
    default:
      return kOfGames;
  }
}

// Maximum bytes of local memory per work-group; source: tables of the CUDA programming guide.
int64_t MaxLocalBytes(int capability) {
  switch (capability) {
    case 80:
    case 87:
      return 163 << 10;
    case 90:
    case 100:
    case 103:
    case 110:
      return 227 << 10;
    default:
      return 99 << 10;
  }
}

// Multiply-adds per cycle and compute unit with wgmma; measured on an H200.
constexpr int64_t kRateOfWarpGroups = 2048;

}  // namespace

NvidiaFeatures NvidiaFeaturesOf(int capability, bool by_warps) {
  NvidiaFeatures features;
  features.has_dot8 = capability >= kPascalWithDp4a;
  features.has_scopes = capability >= kVolta;
  if (capability >= kAmpere) features.max_local_bytes = MaxLocalBytes(capability);
  if (capability == kHopper && !by_warps) {
    features.matrix = MatrixInstructions::kWarpGroups;
    features.matrix_rate = kRateOfWarpGroups;
  } else if (capability >= kAmpere) {
    features.matrix = MatrixInstructions::kWarps;
    features.matrix_rate = RateOfWarps(capability);
  }
  return features;
}

}  // namespace tartan::opencl
