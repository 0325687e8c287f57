// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"
#include "tile/ir/program_builder.h"
#include "tile/ir/random.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleEq;

HostTensor Apply(SpecialKind kind, const std::vector<HostTensor>& inputs,
                 const std::vector<int64_t>& params) {
  ProgramBuilder builder;
  std::vector<ValueId> operands;
  for (const HostTensor& input : inputs) {
    operands.push_back(builder.AddInput("X", input.shape()).value());
  }
  const auto value = builder.AddSpecial(kind, operands, params);
  EXPECT_TRUE(value.ok()) << value.status();
  if (!value.ok()) return HostTensor();
  builder.AddOutput(*value, "O");
  return EvaluateNaively(std::move(builder).Build().value(), inputs)->front();
}

HostTensor Longs(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return Ints(DataType::kInt64, std::move(dims), values);
}

TEST(NaiveReshape, KeepsTheOrderOfElements) {
  const HostTensor result =
      Apply(SpecialKind::kReshape, {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {3, 1, 2});
  EXPECT_EQ(result.shape().ToString(), "float32[3, 1, 2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Apply(SpecialKind::kReshape, {Floats({1, 1}, {4})}, {}).shape().rank(), 0);
}

TEST(NaiveIndex, IsTheCoordinate) {
  const HostTensor result = Apply(SpecialKind::kIndex, {Floats({2, 3}, {0, 0, 0, 0, 0, 0})}, {1});
  EXPECT_EQ(result.type(), DataType::kInt32);
  EXPECT_THAT(result.ToInts(), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(NaiveGather, TakesSlicesAlongTheAxis) {
  const HostTensor data = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Apply(SpecialKind::kGather, {data, Longs({3}, {1, 0, 1})}, {0}).ToDoubles(),
              ElementsAre(4, 5, 6, 1, 2, 3, 4, 5, 6));
  const HostTensor columns = Apply(SpecialKind::kGather, {data, Longs({1, 2}, {2, -3})}, {1});
  EXPECT_EQ(columns.shape().ToString(), "float32[2, 1, 2]");
  EXPECT_THAT(columns.ToDoubles(), ElementsAre(3, 1, 6, 4));
}

TEST(NaiveGather, AScalarIndexDropsTheAxis) {
  const HostTensor result = Apply(
      SpecialKind::kGather, {Floats({2, 2}, {1, 2, 3, 4}), Ints(DataType::kInt32, {}, {-1})}, {0});
  EXPECT_EQ(result.shape().ToString(), "float32[2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(3, 4));
}

TEST(NaiveGather, ClampsIndicesBeyondTheEnds) {
  EXPECT_THAT(
      Apply(SpecialKind::kGather, {Floats({3}, {1, 2, 3}), Longs({4}, {3, 100, -4, -3})}, {0})
          .ToDoubles(),
      ElementsAre(3, 3, 1, 1));
}

TEST(NaiveGatherElements, ReplacesOneCoordinate) {
  const HostTensor data = Floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      Apply(SpecialKind::kGatherElements, {data, Longs({2, 2}, {0, 0, 1, 0})}, {1}).ToDoubles(),
      ElementsAre(1, 1, 4, 3));
  // Fewer columns than the data.
  EXPECT_THAT(
      Apply(SpecialKind::kGatherElements, {data, Longs({3, 1}, {1, -2, 1})}, {0}).ToDoubles(),
      ElementsAre(3, 1, 3));
}

TEST(NaiveGatherNd, IndexesLeadingDimensions) {
  const HostTensor data = Floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(Apply(SpecialKind::kGatherNd, {data, Longs({2, 2}, {0, 1, 1, 0})}, {0}).ToDoubles(),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(Apply(SpecialKind::kGatherNd, {data, Longs({1, 3}, {1, -1, 0})}, {0}).ToDoubles(),
              ElementsAre(6));
}

TEST(NaiveGatherNd, SharesBatchDimensions) {
  const HostTensor data = Floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const HostTensor result = Apply(SpecialKind::kGatherNd, {data, Longs({2, 1}, {1, 0})}, {1});
  EXPECT_EQ(result.shape().ToString(), "float32[2, 2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(2, 3, 4, 5));
}

TEST(NaiveScatter, AddsRowsThatMeet) {
  const HostTensor result = Apply(
      SpecialKind::kScatter,
      {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Longs({3}, {1, 0, 1}), Floats({4}, {0, 0, 0, 0})}, {});
  EXPECT_EQ(result.shape().ToString(), "float32[4, 2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(3, 4, 6, 8, 0, 0, 0, 0));
}

TEST(NaiveScatterElements, PutsUpdatesAlongTheAxis) {
  const HostTensor data = Floats({1, 4}, {1, 2, 3, 4});
  const HostTensor updates = Floats({1, 2}, {10, 20});
  const auto scatter = [&](ScatterMode mode, std::vector<int64_t> at) {
    return Apply(SpecialKind::kScatterElements, {data, Longs({1, 2}, at), updates},
                 {1, static_cast<int64_t>(mode)})
        .ToDoubles();
  };
  EXPECT_THAT(scatter(ScatterMode::kAssign, {1, -1}), ElementsAre(1, 10, 3, 20));
  EXPECT_THAT(scatter(ScatterMode::kAssign, {1, 1}), ElementsAre(1, 20, 3, 4));
  EXPECT_THAT(scatter(ScatterMode::kAdd, {1, 1}), ElementsAre(1, 32, 3, 4));
  EXPECT_THAT(scatter(ScatterMode::kMul, {0, 0}), ElementsAre(200, 2, 3, 4));
  EXPECT_THAT(scatter(ScatterMode::kMin, {0, 3}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(scatter(ScatterMode::kMax, {0, 3}), ElementsAre(10, 2, 3, 20));
}

TEST(NaiveScatterElements, LeavesOutUpdatesBeyondTheEnds) {
  EXPECT_THAT(Apply(SpecialKind::kScatterElements,
                    {Floats({2}, {1, 2}), Longs({2}, {2, -3}), Floats({2}, {8, 9})}, {0, 0})
                  .ToDoubles(),
              ElementsAre(1, 2));
}

TEST(NaiveScatterNd, PutsSlices) {
  const HostTensor data = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Apply(SpecialKind::kScatterNd,
                    {data, Longs({2, 1}, {2, 0}), Floats({2, 2}, {10, 20, 30, 40})}, {0})
                  .ToDoubles(),
              ElementsAre(30, 40, 3, 4, 10, 20));
  EXPECT_THAT(Apply(SpecialKind::kScatterNd,
                    {data, Longs({2, 2}, {1, 1, 1, 1}), Floats({2}, {10, 20})}, {1})
                  .ToDoubles(),
              ElementsAre(1, 2, 3, 34, 5, 6));
}

TEST(NaiveSort, IsStableAndNanIsTheGreatest) {
  const HostTensor x = Floats({5}, {2, NAN, 1, 2, -1});
  EXPECT_THAT(Apply(SpecialKind::kSort, {x}, {0, 0}).ToDoubles(),
              ElementsAre(-1, 1, 2, 2, NanSensitiveDoubleEq(NAN)));
  EXPECT_THAT(Apply(SpecialKind::kArgSort, {x}, {0, 0, 5}).ToInts(), ElementsAre(4, 2, 0, 3, 1));
  EXPECT_THAT(Apply(SpecialKind::kArgSort, {x}, {0, 1, 5}).ToInts(), ElementsAre(1, 0, 3, 2, 4));
  EXPECT_THAT(Apply(SpecialKind::kArgSort, {x}, {0, 1, 2}).ToInts(), ElementsAre(1, 0));
  EXPECT_EQ(Apply(SpecialKind::kArgSort, {x}, {0, 0, 5}).type(), DataType::kInt64);
}

TEST(NaiveSort, OrdersLinesAlongAnyAxis) {
  const HostTensor x = Ints(DataType::kInt32, {2, 3}, {5, 1, 3, 2, 4, 0});
  EXPECT_THAT(Apply(SpecialKind::kSort, {x}, {0, 0}).ToInts(), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(Apply(SpecialKind::kSort, {x}, {1, 1}).ToInts(), ElementsAre(5, 3, 1, 4, 2, 0));
}

TEST(NaiveSort, ComparesUnsignedNumbersAsSuch) {
  const HostTensor x = Ints(DataType::kUInt64, {2}, {-1, 1});
  EXPECT_THAT(Apply(SpecialKind::kSort, {x}, {0, 0}).ToInts(), ElementsAre(1, -1));
}

TEST(NaiveCumSum, GoesBothWaysAndMayLeaveItselfOut) {
  const HostTensor x = Floats({4}, {1, 2, 3, 4});
  const auto sums = [&](int64_t exclusive, int64_t reverse) {
    return Apply(SpecialKind::kCumSum, {x}, {0, exclusive, reverse}).ToDoubles();
  };
  EXPECT_THAT(sums(0, 0), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(sums(1, 0), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(sums(0, 1), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(sums(1, 1), ElementsAre(9, 7, 4, 0));
}

TEST(NaiveCumProd, MultipliesAlongTheAxis) {
  const HostTensor x = Ints(DataType::kInt8, {2, 3}, {1, 2, 3, 100, 2, 1});
  EXPECT_THAT(Apply(SpecialKind::kCumProd, {x}, {1, 0, 0}).ToInts(),
              ElementsAre(1, 2, 6, 100, -56, -56));
  EXPECT_THAT(Apply(SpecialKind::kCumProd, {x}, {1, 1, 0}).ToInts(),
              ElementsAre(1, 1, 2, 1, 100, -56));
}

TEST(NaiveSpecial, EmptyTensorsStayEmpty) {
  const HostTensor x = Floats({0, 3}, {});
  EXPECT_EQ(Apply(SpecialKind::kSort, {x}, {1, 0}).element_count(), 0);
  EXPECT_EQ(Apply(SpecialKind::kSort, {x}, {0, 0}).element_count(), 0);
  EXPECT_EQ(Apply(SpecialKind::kCumSum, {x}, {0, 0, 0}).element_count(), 0);
  EXPECT_EQ(Apply(SpecialKind::kGather, {x, Longs({0}, {})}, {0}).element_count(), 0);
  EXPECT_THAT(
      Apply(SpecialKind::kScatterNd, {Floats({2}, {1, 2}), Longs({0, 1}, {}), Floats({0}, {})}, {0})
          .ToDoubles(),
      ElementsAre(1, 2));
}

TEST(NaivePrng, IsTheStreamOfRandomUniform) {
  const HostTensor seed = Ints(DataType::kUInt32, {2}, {7, 9});
  const HostTensor result = Apply(SpecialKind::kPrng, {seed}, {3, 2});
  EXPECT_EQ(result.shape().ToString(), "float32[3, 2]");
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(result.GetDouble(i), RandomUniform(i, {7, 9}));
  const HostTensor scalar = Longs({}, {7 + (int64_t{9} << 32)});
  EXPECT_EQ(Apply(SpecialKind::kPrng, {scalar}, {6}).ToDoubles(), result.ToDoubles());
}

}  // namespace
}  // namespace tartan::ir
