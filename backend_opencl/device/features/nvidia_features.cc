// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/nvidia_features.h"

namespace tartan::opencl {
namespace {

constexpr int kPascalWithDp4a = 61;
constexpr int kVolta = 70;
constexpr int kAmpere = 80;
constexpr int kHopper = 90;

// Of 16-bit floats whose products are added up in float32, by the figures of data sheets. Boards
// for games have half of the rate of others with the same capability (8.6, 8.9, 12.0), which cannot
// be told apart: the lesser is taken.
int64_t RateOfWarps(int capability) {
  switch (capability) {
    case 80:   // A100
    case 90:   // H100, of its 2048: measured
    case 100:  // B200
    case 103:
      return 1024;
    default:
      return 256;
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
