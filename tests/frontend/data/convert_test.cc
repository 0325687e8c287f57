// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

// The converted tensor. When an element is lost, returns an empty tensor and sets `*lost` to its
// index.
HostTensor Converted(const HostTensor& from, DataType type, double scale = 1,
                     std::optional<int64_t>* lost = nullptr) {
  const TensorShape shape{type, from.shape().dims};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  const auto index = Convert(from.type(), from.bytes(), scale, type, absl::MakeSpan(bytes));
  if (lost != nullptr) *lost = index;
  return index.has_value() ? HostTensor() : HostTensor(shape, bytes);
}

std::optional<int64_t> LostOf(const HostTensor& from, DataType type, double scale = 1) {
  std::optional<int64_t> lost;
  Converted(from, type, scale, &lost);
  return lost;
}

HostTensor Doubles(const std::vector<double>& values) {
  return Tensor<double>(DataType::kFloat64, {static_cast<int64_t>(values.size())}, values);
}

TEST(Convert, ScalesBytesToFractionsAsADivisionDoes) {
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
  const HostTensor scaled =
      Converted(Tensor<uint8_t>(DataType::kUInt8, {256}, bytes), DataType::kFloat32, 1.0 / 255);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(static_cast<float>(scaled.GetDouble(i)), i / 255.0f);
}

TEST(Convert, RoundsToFloats) {
  const HostTensor values = Doubles({0.1, -2, 65504});
  EXPECT_THAT(Converted(values, DataType::kFloat32).ToDoubles(),
              ElementsAre(static_cast<double>(0.1f), -2, 65504));
  EXPECT_THAT(Converted(values, DataType::kFloat16).ToDoubles(),
              ElementsAre(::testing::DoubleNear(0.1, 1e-4), -2, 65504));
  EXPECT_THAT(Converted(Converted(values, DataType::kBFloat16), DataType::kFloat64).ToDoubles(),
              ElementsAre(::testing::DoubleNear(0.1, 1e-3), -2, 65536));
}

TEST(Convert, KeepsNaNAndInfinityAmongFloats) {
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32}) {
    const std::vector<double> values =
        Converted(Doubles({kInf, -kInf, std::nan("")}), type).ToDoubles();
    ASSERT_EQ(values.size(), 3u);
    EXPECT_EQ(values[0], kInf);
    EXPECT_EQ(values[1], -kInf);
    EXPECT_TRUE(std::isnan(values[2]));
  }
}

TEST(Convert, FindsWhatAFloatTypeCannotReach) {
  EXPECT_EQ(LostOf(Doubles({1, 1e300}), DataType::kFloat32), 1);
  EXPECT_EQ(LostOf(Doubles({1, 2, 70000}), DataType::kFloat16), 2);
  EXPECT_EQ(LostOf(Doubles({1e39}), DataType::kBFloat16), 0);
}

TEST(Convert, TakesIntegersExactlyOrNotAtAll) {
  const auto longs = Tensor<int64_t>(DataType::kInt64, {3}, {INT64_MIN, INT64_MAX, 0});
  EXPECT_EQ(LostOf(longs, DataType::kInt64), std::nullopt);
  EXPECT_EQ(LostOf(longs, DataType::kUInt64), 0);
  EXPECT_EQ(LostOf(longs, DataType::kInt32), 0);
  const auto ints = Tensor<int32_t>(DataType::kInt32, {3}, {-128, 127, 0});
  EXPECT_THAT(Converted(ints, DataType::kInt64).ToInts(), ElementsAre(-128, 127, 0));
  EXPECT_THAT(Converted(ints, DataType::kInt8).ToInts(), ElementsAre(-128, 127, 0));
  EXPECT_EQ(LostOf(ints, DataType::kUInt8), 0);
  const auto large = Tensor<uint64_t>(DataType::kUInt64, {2}, {1, UINT64_MAX});
  EXPECT_EQ(LostOf(large, DataType::kInt64), 1);
}

TEST(Convert, TakesIntegralFloatsAsIntegersAndNoOthers) {
  EXPECT_THAT(Converted(Doubles({-3, 0, 9007199254740992}), DataType::kInt64).ToInts(),
              ElementsAre(-3, 0, 9007199254740992));
  EXPECT_EQ(LostOf(Doubles({1, 2.5}), DataType::kInt64), 1);
  EXPECT_EQ(LostOf(Doubles({1, std::nan("")}), DataType::kInt64), 1);
  EXPECT_EQ(LostOf(Doubles({1, -kInf}), DataType::kInt8), 1);
  EXPECT_EQ(LostOf(Doubles({-9223372036854775808.0, 9223372036854775808.0}), DataType::kInt64), 1);
  EXPECT_EQ(LostOf(Doubles({0, -1}), DataType::kUInt8), 1);
}

TEST(Convert, TakesZeroAndOneAsBool) {
  EXPECT_THAT(Converted(Doubles({0, 1}), DataType::kBool).ToInts(), ElementsAre(0, 1));
  EXPECT_EQ(LostOf(Doubles({0, 1, 2}), DataType::kBool), 2);
  const auto bools = Tensor<uint8_t>(DataType::kBool, {2}, {1, 0});
  EXPECT_THAT(Converted(bools, DataType::kFloat32).ToDoubles(), ElementsAre(1, 0));
}

TEST(Convert, FindsWhatIsLostBesideNaNAndInfinity) {
  std::vector<double> values(300, kInf);
  values[299] = 1e39;
  EXPECT_EQ(LostOf(Doubles(values), DataType::kFloat32), 299);
  values[299] = std::nan("");
  EXPECT_EQ(LostOf(Doubles(values), DataType::kFloat32), std::nullopt);
  EXPECT_EQ(LostOf(Doubles({1e300}), DataType::kFloat64, 1e300), 0);
}

TEST(Convert, FindsTheFirstOfManyBlocks) {
  std::vector<double> values(1000, 4);
  values[700] = 0.5;
  values[900] = 0.5;
  EXPECT_EQ(LostOf(Doubles(values), DataType::kInt32), 700);
  EXPECT_EQ(LostOf(Doubles(values), DataType::kInt32, 2), std::nullopt);
}

}  // namespace
}  // namespace tartan::data
