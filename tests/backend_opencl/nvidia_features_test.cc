// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/nvidia_features.h"

#include <gtest/gtest.h>

namespace tartan::opencl {
namespace {

TEST(NvidiaFeatures, OtherDevicesHaveNone) {
  const NvidiaFeatures features = NvidiaFeaturesOf(0);
  EXPECT_FALSE(features.has_dot8);
  EXPECT_FALSE(features.has_scopes);
  EXPECT_EQ(features.matrix, MatrixInstructions::kNone);
  EXPECT_EQ(features.matrix_rate, 0);
}

TEST(NvidiaFeatures, CameOneAfterTheOther) {
  EXPECT_FALSE(NvidiaFeaturesOf(60).has_dot8);
  EXPECT_TRUE(NvidiaFeaturesOf(61).has_dot8);
  EXPECT_FALSE(NvidiaFeaturesOf(61).has_scopes);
  EXPECT_TRUE(NvidiaFeaturesOf(70).has_scopes);
  EXPECT_EQ(NvidiaFeaturesOf(75).matrix, MatrixInstructions::kNone);
  EXPECT_EQ(NvidiaFeaturesOf(80).matrix, MatrixInstructions::kWarps);
}

// Only Hopper has wgmma; neither earlier nor later GPUs do.
TEST(NvidiaFeatures, WarpGroupsAreHoppersAlone) {
  for (const int capability : {80, 86, 87, 89, 100, 103, 120, 121}) {
    EXPECT_EQ(NvidiaFeaturesOf(capability).matrix, MatrixInstructions::kWarps) << capability;
    EXPECT_GT(NvidiaFeaturesOf(capability).matrix_rate, 0) << capability;
  }
  EXPECT_EQ(NvidiaFeaturesOf(90).matrix, MatrixInstructions::kWarpGroups);
  EXPECT_EQ(NvidiaFeaturesOf(90).max_local_bytes, 227 << 10);
  EXPECT_EQ(NvidiaFeaturesOf(80).max_local_bytes, 163 << 10);
  EXPECT_EQ(NvidiaFeaturesOf(89).max_local_bytes, 99 << 10);
  EXPECT_EQ(NvidiaFeaturesOf(75).max_local_bytes, 0);
  EXPECT_EQ(NvidiaFeaturesOf(90, /*by_warps=*/true).matrix, MatrixInstructions::kWarps);
  EXPECT_LT(NvidiaFeaturesOf(90, /*by_warps=*/true).matrix_rate, NvidiaFeaturesOf(90).matrix_rate);
}

}  // namespace
}  // namespace tartan::opencl
