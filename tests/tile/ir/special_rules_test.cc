// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using ::testing::HasSubstr;
using T = DataType;
using Kind = SpecialKind;

// The shape the operation gives, or its error.
std::string ShapeOf(Kind kind, const std::vector<TensorShape>& shapes,
                    const std::vector<int64_t>& params) {
  ProgramBuilder builder;
  std::vector<ValueId> operands;
  for (const TensorShape& shape : shapes) operands.push_back(*builder.AddInput("X", shape));
  const auto value = builder.AddSpecial(kind, operands, params);
  if (value.ok()) return builder.shape(*value).ToString();
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

const TensorShape kData{T::kFloat32, {4, 5, 6}};

TEST(SpecialRules, GiveShapes) {
  EXPECT_EQ(ShapeOf(Kind::kReshape, {kData}, {20, 6}), "float32[20, 6]");
  EXPECT_EQ(ShapeOf(Kind::kIndex, {kData}, {2}), "int32[4, 5, 6]");
  EXPECT_EQ(ShapeOf(Kind::kGather, {kData, {T::kInt32, {2, 3}}}, {1}), "float32[4, 2, 3, 6]");
  EXPECT_EQ(ShapeOf(Kind::kGatherElements, {kData, {T::kInt64, {4, 9, 1}}}, {1}),
            "float32[4, 9, 1]");
  EXPECT_EQ(ShapeOf(Kind::kGatherNd, {kData, {T::kInt64, {4, 7, 1}}}, {1}), "float32[4, 7, 6]");
  EXPECT_EQ(ShapeOf(Kind::kScatter, {{T::kFloat32, {3, 8}}, {T::kInt32, {3}}, kData}, {}),
            "float32[4, 8]");
  EXPECT_EQ(ShapeOf(Kind::kScatterNd, {kData, {T::kInt64, {9, 2}}, {T::kFloat32, {9, 6}}}, {1}),
            "float32[4, 5, 6]");
  EXPECT_EQ(ShapeOf(Kind::kArgSort, {kData}, {0, 1, 4}), "int64[4, 5, 6]");
  EXPECT_EQ(ShapeOf(Kind::kArgSort, {kData}, {1, 0, 2}), "int64[4, 2, 6]");
  EXPECT_EQ(ShapeOf(Kind::kPrng, {{T::kUInt32, {2}}}, {3}), "float32[3]");
}

TEST(SpecialRules, SayWhatIsWrong) {
  EXPECT_THAT(ShapeOf(Kind::kReshape, {kData}, {7}), HasSubstr("120 elements"));
  EXPECT_THAT(ShapeOf(Kind::kIndex, {kData}, {3}), HasSubstr("no axis 3"));
  EXPECT_THAT(ShapeOf(Kind::kSort, {{T::kFloat32, {}}}, {0, 0}), HasSubstr("no axis 0"));
  EXPECT_THAT(ShapeOf(Kind::kGather, {kData, kData}, {0}), HasSubstr("must be integers"));
  EXPECT_THAT(ShapeOf(Kind::kGather, {{T::kFloat32, {0}}, {T::kInt32, {1}}}, {0}),
              HasSubstr("no elements to gather"));
  EXPECT_THAT(ShapeOf(Kind::kGatherElements, {kData, {T::kInt64, {5, 5, 6}}}, {1}),
              HasSubstr("exceed dimension 0"));
  EXPECT_THAT(ShapeOf(Kind::kGatherNd, {kData, {T::kInt64, {2, 4}}}, {0}),
              HasSubstr("no 4 dimensions"));
  EXPECT_THAT(
      ShapeOf(Kind::kScatterElements, {kData, {T::kInt64, {1, 1, 1}}, {T::kFloat32, {1}}}, {0, 0}),
      HasSubstr("differ in size"));
  EXPECT_THAT(ShapeOf(Kind::kScatterNd, {kData, {T::kInt64, {9, 1}}, {T::kFloat32, {9}}}, {0}),
              HasSubstr("must have the sizes [9, 5, 6]"));
  EXPECT_THAT(
      ShapeOf(Kind::kScatterNd, {{T::kFloat32, {4}}, {T::kInt64, {9, 1}}, {T::kFloat64, {9}}}, {0}),
      HasSubstr("differ in type"));
  EXPECT_THAT(
      ShapeOf(Kind::kScatterNd, {{T::kFloat32, {4}}, {T::kInt64, {9, 1}}, {T::kFloat32, {9}}}, {9}),
      HasSubstr("no mode 9"));
  EXPECT_THAT(ShapeOf(Kind::kPrng, {{T::kFloat32, {}}}, {3}), HasSubstr("the seed must be"));
  EXPECT_THAT(ShapeOf(Kind::kCumSum, {kData}, {0}), HasSubstr("3 numbers"));
}

}  // namespace
}  // namespace tartan::ir
