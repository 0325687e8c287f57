// SPDX-License-Identifier: Apache-2.0
#include "tile/base/host_tensor.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan {
namespace {

using ::testing::ElementsAre;

double Stored(DataType type, double value) {
  uint8_t bytes[8] = {};
  StoreElement(type, value, 0, bytes);
  return HostTensor({type, {}}, {bytes, static_cast<size_t>(ByteWidth(type))}).GetDouble(0);
}

TEST(HostTensor, KeepsWhatItIsGiven) {
  const auto tensor = HostTensor::FromVector<float>({DataType::kFloat32, {2, 2}}, {1, -2, 0.5, 4});
  EXPECT_THAT(tensor.ToDoubles(), ElementsAre(1, -2, 0.5, 4));
  EXPECT_EQ(tensor.element_count(), 4);
  EXPECT_EQ(tensor.Reshaped({4}).shape().dims, std::vector<int64_t>{4});
}

TEST(HostTensor, ReadsSixtyFourBitIntegersExactly) {
  const auto tensor =
      HostTensor::FromVector<int64_t>({DataType::kInt64, {2}}, {INT64_MAX, INT64_MIN});
  EXPECT_THAT(tensor.ToInts(), ElementsAre(INT64_MAX, INT64_MIN));
  const auto bits = HostTensor::FromVector<uint64_t>({DataType::kUInt64, {1}}, {UINT64_MAX});
  EXPECT_EQ(bits.GetInt(0), -1);
  EXPECT_EQ(bits.GetDouble(0), 18446744073709551615.0);
}

TEST(HostTensor, RoundsToTheTypeWhenStoring) {
  EXPECT_EQ(Stored(DataType::kFloat16, 2049), 2048);
  EXPECT_EQ(Stored(DataType::kFloat32, 0.1), 0.1f);
  EXPECT_EQ(Stored(DataType::kInt32, -2.9), -2);
  EXPECT_EQ(Stored(DataType::kBool, 0.25), 1);
  EXPECT_EQ(Stored(DataType::kInt32, NAN), 0);
}

TEST(HostTensor, TakesEveryByteButZeroForTrue) {
  const std::vector<uint8_t> bytes = {0, 1, 2, 255};
  const TensorShape shape{DataType::kBool, {4}};
  EXPECT_THAT(HostTensor(shape, bytes).ToInts(), ElementsAre(0, 1, 1, 1));
  const auto owner = std::make_shared<std::vector<uint8_t>>(bytes);
  const HostTensor shared(shape, *owner, owner);
  EXPECT_THAT(shared.ToInts(), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(shared.bytes(), ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(owner->at(3), 255);
}

TEST(HostTensor, SharesMemoryWithoutCopying) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::vector<uint8_t>{1, 2, 3});
  const absl::Span<const uint8_t> bytes = *owner;
  const HostTensor tensor({DataType::kUInt8, {3}}, bytes, owner);
  EXPECT_EQ(tensor.bytes().data(), owner->data());
  EXPECT_EQ(owner.use_count(), 2);
}

TEST(HostTensor, MayHaveNoElements) {
  const HostTensor tensor = HostTensor::Zeros({DataType::kFloat32, {0, 3}});
  EXPECT_EQ(tensor.element_count(), 0);
  EXPECT_TRUE(tensor.ToDoubles().empty());
}

}  // namespace
}  // namespace tartan
