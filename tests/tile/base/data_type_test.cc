// SPDX-License-Identifier: Apache-2.0
#include "tile/base/data_type.h"

#include "gtest/gtest.h"

namespace tartan {
namespace {

DataType TypeAt(int i) { return static_cast<DataType>(i); }

TEST(DataType, NamesReadBack) {
  for (int i = 1; i <= static_cast<int>(DataType::kFloat64); ++i) {
    EXPECT_EQ(DataTypeFromName(Name(TypeAt(i))), TypeAt(i)) << Name(TypeAt(i));
  }
  EXPECT_EQ(DataTypeFromName("invalid"), DataType::kInvalid);
  EXPECT_EQ(DataTypeFromName("float31"), DataType::kInvalid);
}

TEST(DataType, BelongsToOneFamily) {
  for (int i = 2; i <= static_cast<int>(DataType::kFloat64); ++i) {
    EXPECT_EQ(IsFloat(TypeAt(i)) + IsSignedInteger(TypeAt(i)) + IsUnsignedInteger(TypeAt(i)), 1);
    EXPECT_NE(IsInteger(TypeAt(i)), IsFloat(TypeAt(i)));
  }
  EXPECT_FALSE(IsInteger(DataType::kBool));
  EXPECT_FALSE(IsFloat(DataType::kBool));
}

TEST(DataType, HasTheLimitsOfItsWidth) {
  EXPECT_EQ(MinInteger(DataType::kInt8), -128);
  EXPECT_EQ(MaxInteger(DataType::kInt8), 127);
  EXPECT_EQ(MaxInteger(DataType::kUInt16), 65535);
  EXPECT_EQ(MinInteger(DataType::kUInt32), 0);
  EXPECT_EQ(MinInteger(DataType::kInt64), INT64_MIN);
  EXPECT_EQ(MaxInteger(DataType::kInt64), INT64_MAX);
  EXPECT_EQ(MaxInteger(DataType::kUInt64), -1);  // all ones
  EXPECT_EQ(MaxInteger(DataType::kBool), 1);
}

TEST(DataType, SixteenBitFloatsComputeInFloat32) {
  EXPECT_EQ(ComputeType(DataType::kFloat16), DataType::kFloat32);
  EXPECT_EQ(ComputeType(DataType::kBFloat16), DataType::kFloat32);
  EXPECT_EQ(ComputeType(DataType::kFloat64), DataType::kFloat64);
  EXPECT_EQ(ComputeType(DataType::kInt8), DataType::kInt8);
}

}  // namespace
}  // namespace tartan
