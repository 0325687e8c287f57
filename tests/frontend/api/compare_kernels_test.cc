// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/compare_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tartan::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostTensor FloatValues(const std::vector<float>& values) {
  return HostTensor::FromVector({DataType::kFloat32, {static_cast<int64_t>(values.size())}},
                                values);
}

std::string Difference(const HostTensor& ready, const HostTensor& exact) {
  return std::string(CompareKernels({ready}, {exact}).message());
}

TEST(CompareKernels, AllowsOtherRoundings) {
  EXPECT_THAT(Difference(FloatValues({1, 100, NAN}), FloatValues({1.5, 100.5, NAN})), IsEmpty());
}

TEST(CompareKernels, NamesTheFirstElementThatDiffers) {
  EXPECT_EQ(Difference(FloatValues({1, 100, 3}), FloatValues({1, 100, 9})),
            "exact kernels give 9 for element 2 of output 0 float32[3], ready kernels give 3");
}

TEST(CompareKernels, FindsMemoryThatNobodyWrote) {
  EXPECT_THAT(Difference(FloatValues({1, 2}), FloatValues({1, NAN})), HasSubstr("element 1"));
  EXPECT_THAT(Difference(FloatValues({0, 0}), FloatValues({0, 1e-30F})), HasSubstr("element 1"));
}

TEST(CompareKernels, AllowsFewIntegersToDiffer) {
  const TensorShape shape{DataType::kInt32, {200}};
  std::vector<int32_t> values(200, 7);
  const HostTensor ready = HostTensor::FromVector(shape, values);
  values[3] = values[4] = 8;
  EXPECT_THAT(Difference(ready, HostTensor::FromVector(shape, values)), IsEmpty());
  values[5] = 8;
  EXPECT_THAT(Difference(ready, HostTensor::FromVector(shape, values)), HasSubstr("element 5"));
}

}  // namespace
}  // namespace tartan::api
