// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;

// One operation applied to inputs, without Tile in between.
HostTensor Apply(ScalarOp op, const std::vector<HostTensor>& inputs) {
  ProgramBuilder builder;
  std::vector<ValueId> operands;
  for (const HostTensor& input : inputs) {
    operands.push_back(builder.AddInput("X", input.shape()).value());
  }
  builder.AddOutput(builder.AddElementwise(op, operands).value(), "O");
  return EvaluateNaively(std::move(builder).Build().value(), inputs)->front();
}

HostTensor CastTo(DataType type, const HostTensor& input) {
  ProgramBuilder builder;
  const ValueId x = builder.AddInput("X", input.shape()).value();
  builder.AddOutput(builder.AddCast(x, type).value(), "O");
  return EvaluateNaively(std::move(builder).Build().value(), {input})->front();
}

TEST(NaiveElementwise, BroadcastsBothSides) {
  const HostTensor result =
      Apply(ScalarOp::kAdd, {Floats({2, 1}, {1, 2}), Floats({3}, {10, 20, 30})});
  EXPECT_EQ(result.shape().ToString(), "float32[2, 3]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(11, 21, 31, 12, 22, 32));
}

TEST(NaiveElementwise, BroadcastsScalarsAndMiddleDimensions) {
  const HostTensor x = Floats({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Apply(ScalarOp::kMul, {x, Floats({}, {2})}).ToDoubles(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(Apply(ScalarOp::kMul, {x, Floats({2, 1}, {1, 10})}).ToDoubles(),
              ElementsAre(1, 2, 10, 20, 3, 4, 30, 40));
}

TEST(NaiveElementwise, EmptyTensorsGiveEmptyTensors) {
  const HostTensor result = Apply(ScalarOp::kAdd, {Floats({0, 3}, {}), Floats({3}, {1, 2, 3})});
  EXPECT_EQ(result.shape().ToString(), "float32[0, 3]");
  EXPECT_EQ(Apply(ScalarOp::kExp, {Floats({3, 0}, {})}).element_count(), 0);
}

TEST(NaiveElementwise, RoundsToTheTypeAfterEachOperation) {
  EXPECT_EQ(Apply(ScalarOp::kAdd, {Floats({}, {16777216}), Floats({}, {1})}).GetDouble(0),
            16777216);
  const HostTensor half = Typed(DataType::kFloat16, {2}, {2048, 65504});
  const HostTensor sum = Apply(ScalarOp::kAdd, {half, Typed(DataType::kFloat16, {2}, {1, 65504})});
  EXPECT_EQ(sum.type(), DataType::kFloat16);
  EXPECT_THAT(sum.ToDoubles(), ElementsAre(2048, INFINITY));
}

TEST(NaiveElementwise, MixedOperandsAreConvertedFirst) {
  const HostTensor result =
      Apply(ScalarOp::kLess, {Ints(DataType::kInt32, {2}, {-1, 5}), Floats({2}, {-0.5, 4.5})});
  EXPECT_EQ(result.type(), DataType::kBool);
  EXPECT_THAT(result.ToInts(), ElementsAre(1, 0));
  // Unsigned numbers take the signed type of the same width.
  EXPECT_THAT(
      Apply(ScalarOp::kAdd, {Ints(DataType::kUInt8, {1}, {200}), Ints(DataType::kInt8, {1}, {0})})
          .ToInts(),
      ElementsAre(-56));
}

TEST(NaiveElementwise, IntegersKeepAllTheirBits) {
  const int64_t large = (int64_t{1} << 62) + 1;
  EXPECT_THAT(Apply(ScalarOp::kAdd,
                    {Ints(DataType::kInt64, {1}, {large}), Ints(DataType::kInt64, {1}, {1})})
                  .ToInts(),
              ElementsAre(large + 1));
}

TEST(NaiveElementwise, SelectTakesAnyConditionAndBroadcasts) {
  EXPECT_THAT(Apply(ScalarOp::kSelect, {Floats({2, 1}, {NAN, 0}), Floats({2}, {1, 2}),
                                        Ints(DataType::kInt32, {}, {7})})
                  .ToDoubles(),
              ElementsAre(1, 2, 7, 7));
}

TEST(NaiveElementwise, LogicTestsForZero) {
  EXPECT_THAT(
      Apply(ScalarOp::kLogicalAnd, {Floats({3}, {0.5, 0, 2}), Floats({3}, {1, 1, 0})}).ToInts(),
      ElementsAre(1, 0, 0));
  EXPECT_THAT(Apply(ScalarOp::kLogicalNot, {Ints(DataType::kInt32, {2}, {4, 0})}).ToInts(),
              ElementsAre(0, 1));
}

TEST(NaiveElementwise, FloatFunctionsOfIntegersGiveFloats) {
  const HostTensor result = Apply(ScalarOp::kSqrt, {Ints(DataType::kInt64, {2}, {4, 9})});
  EXPECT_EQ(result.type(), DataType::kFloat32);
  EXPECT_THAT(result.ToDoubles(), ElementsAre(2, 3));
}

TEST(NaiveElementwise, CastsTruncateSaturateAndWrap) {
  EXPECT_THAT(CastTo(DataType::kInt8, Floats({5}, {-2.7, 2.7, 1000, -1000, NAN})).ToInts(),
              ElementsAre(-2, 2, 127, -128, 0));
  EXPECT_THAT(CastTo(DataType::kInt8, Ints(DataType::kInt32, {2}, {300, -129})).ToInts(),
              ElementsAre(44, 127));
  EXPECT_THAT(CastTo(DataType::kBool, Floats({4}, {0, -0.0, 0.1, NAN})).ToInts(),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(CastTo(DataType::kFloat32, Ints(DataType::kUInt64, {1}, {-1})).ToDoubles(),
              ElementsAre(18446744073709551616.0));
}

TEST(NaiveElementwise, EveryFunctionOfOneFloatHasItsValue) {
  const auto at = [](ScalarOp op, float x) { return Apply(op, {Floats({}, {x})}).GetDouble(0); };
  const float x = 0.4f;
  EXPECT_EQ(at(ScalarOp::kIdentity, x), x);
  EXPECT_EQ(at(ScalarOp::kNeg, x), -x);
  EXPECT_EQ(at(ScalarOp::kAbs, -x), x);
  EXPECT_EQ(at(ScalarOp::kCeil, x), 1);
  EXPECT_EQ(at(ScalarOp::kFloor, -x), -1);
  EXPECT_EQ(at(ScalarOp::kTrunc, -1.5f), -1);
  EXPECT_EQ(at(ScalarOp::kRecip, x), 1 / x);
  EXPECT_FLOAT_EQ(at(ScalarOp::kSqrt, x), 0.6324555f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kExp, x), 1.4918247f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kExpm1, x), 0.4918247f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kLog, x), -0.91629076f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kLog1p, x), 0.33647224f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kSin, x), 0.38941836f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kCos, x), 0.921061f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kTan, x), 0.42279324f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAsin, x), 0.41151685f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAcos, x), 1.1592795f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAtan, x), 0.3805064f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kSinh, x), 0.41075233f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kCosh, x), 1.0810724f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kTanh, x), 0.37994897f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAsinh, x), 0.39003533f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAcosh, 1.4f), 0.86701465f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kAtanh, x), 0.42364892f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kErf, x), 0.42839235f);
  EXPECT_FLOAT_EQ(at(ScalarOp::kSigmoid, x), 0.59868765f);
}

TEST(NaiveElementwise, ChecksItsInputs) {
  EXPECT_FALSE(EvaluateNaively(*BindTile("function (A) -> (B) { B = -A; }", {Floats({1}, {1})}),
                               {Floats({2}, {1, 2})})
                   .ok());
  EXPECT_FALSE(
      EvaluateNaively(*BindTile("function (A) -> (B) { B = -A; }", {Floats({1}, {1})}), {}).ok());
}

}  // namespace
}  // namespace tartan::ir
