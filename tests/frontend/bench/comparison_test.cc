// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/comparison.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

HostTensor Floats(const std::vector<float>& values) {
  return HostTensor::FromVector(
      TensorShape{DataType::kFloat32, {static_cast<int64_t>(values.size())}}, values);
}

TEST(MaxError, IsZeroForEqualTensors) {
  EXPECT_EQ(MaxError(Floats({1, -2, NAN, INFINITY}), Floats({1, -2, NAN, INFINITY})), 0);
  EXPECT_EQ(MaxError(Floats({}), Floats({})), 0);
}

TEST(MaxError, IsRelativeToTheGreatestElement) {
  EXPECT_DOUBLE_EQ(MaxError(Floats({0.5f, 4}), Floats({0, -4})), 2);
  EXPECT_DOUBLE_EQ(MaxError(Floats({1, 4}), Floats({2, 8})), 0.5);
}

TEST(MaxError, IsInfiniteWhereNumbersAndNoNumbersMeet) {
  EXPECT_EQ(MaxError(Floats({NAN}), Floats({1})), INFINITY);
  EXPECT_EQ(MaxError(Floats({1}), Floats({NAN})), INFINITY);
  EXPECT_EQ(MaxError(Floats({1}), Floats({0})), INFINITY);
  EXPECT_EQ(MaxError(Floats({1, 2}), Floats({1})), INFINITY);
}

}  // namespace
}  // namespace tartan::bench
