// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/nvidia_features.h"

namespace tartan::opencl {
namespace {

constexpr int kPascalWithDp4a = 61;
constexpr int kVolta = 70;
constexpr int kAmpere = 80;
constexpr int kHopper = 90;

// Of 16-bit floats whose products are added up in float32. Units that could do 1024 and more wait
// for local memory, from where each warp loads all columns: an H100 reaches 640 of its 2048 so, 278
// TFLOP/s. Of others by data sheets: boards for games have half of the rate of those with the same
// capability (8.6, 8.9, 12.0), which cannot be told apart, so the lesser is taken.
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

// By the tables of CUDA's guide.
int64_t MostLocalBytes(int capability) {
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

constexpr int64_t kRateOfWarpGroups = 2048;  // measured on an H200

}  // namespace

NvidiaFeatures NvidiaFeaturesOf(int capability, bool by_warps) {
  NvidiaFeatures features;
  features.has_dot8 = capability >= kPascalWithDp4a;
  features.has_scopes = capability >= kVolta;
  if (capability >= kAmpere) features.most_local_bytes = MostLocalBytes(capability);
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
