// SPDX-License-Identifier: Apache-2.0
#include "tile/base/shape.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<int64_t>;

Dims Broadcast(const Dims& a, const Dims& b) { return BroadcastDims(a, b).value(); }

TEST(TensorShape, CountsAndPrints) {
  const TensorShape shape{DataType::kFloat32, {2, 3}};
  EXPECT_EQ(shape.element_count(), 6);
  EXPECT_EQ(shape.byte_size(), 24);
  EXPECT_EQ(shape.ToString(), "float32[2, 3]");
  EXPECT_EQ((TensorShape{DataType::kBool, {}}).element_count(), 1);
  EXPECT_EQ((TensorShape{DataType::kBool, {4, 0}}).element_count(), 0);
}

TEST(CheckShape, AcceptsEmptyTensors) {
  EXPECT_TRUE(CheckShape({DataType::kInt8, {0, 5}}).ok());
  EXPECT_TRUE(CheckShape({DataType::kInt8, {}}).ok());
}

TEST(CheckShape, RefusesWhatCannotBe) {
  EXPECT_EQ(CheckShape({DataType::kInvalid, {1}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckShape({DataType::kInt8, {-1}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckShape({DataType::kFloat32, {int64_t{1} << 31, int64_t{1} << 31}}).code(),
            absl::StatusCode::kResourceExhausted);
  // The other sizes of an empty tensor must be valid, too: strides are computed from them.
  EXPECT_EQ(CheckShape({DataType::kInt8, {0, INT64_MAX, INT64_MAX}}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(RowMajorStrides, CountElementsToTheRight) {
  EXPECT_THAT(RowMajorStrides({2, 3, 5}), ElementsAre(15, 5, 1));
  EXPECT_THAT(RowMajorStrides({2, 0, 5}), ElementsAre(5, 5, 1));
  EXPECT_TRUE(RowMajorStrides({}).empty());
}

TEST(BroadcastDims, AlignsToTheRight) {
  EXPECT_THAT(Broadcast({2, 3}, {3}), ElementsAre(2, 3));
  EXPECT_THAT(Broadcast({4, 1}, {1, 5}), ElementsAre(4, 5));
  EXPECT_THAT(Broadcast({}, {7}), ElementsAre(7));
  EXPECT_THAT(Broadcast({1}, {0}), ElementsAre(0));
}

TEST(BroadcastDims, NamesShapesThatDoNotMatch) {
  const auto result = BroadcastDims({2, 3}, {4});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("[2, 3] and [4]"));
  EXPECT_FALSE(BroadcastDims({2}, {0}).ok());
}

}  // namespace
}  // namespace tartan
