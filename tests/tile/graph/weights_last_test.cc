// SPDX-License-Identifier: Apache-2.0
// Tests that constant convolution weights are transposed to make output channels contiguous.
#include "tile/graph/layouts/weights_last.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two convolutions with the same weights, and their sum.
TestProgram TwoConvolutions() {
  return {"Twice",
          "function (X[N, C, Y, X0], K[O, C, I, J]) -> (R) { "
          "P[n, o, y, x : N, O, Y, X0] = +(X[n, c, y+i-1, x+j-1] * K[o, c, i, j]); "
          "Q[n, o, y, x : N, O, Y, X0] = +(P[n, c, y+i-1, x+j] * K[o, c, i, j]); R = P + Q; }",
          {{DataType::kFloat32, {2, 4, 5, 3}}, {DataType::kFloat32, {4, 4, 3, 2}}}};
}

ir::Program WithConstant(ir::Program program, size_t input) {
  std::get<ir::Input>(program.values[program.inputs[input]].op).is_constant = true;
  return program;
}

TEST(WeightsLast, TransposesConstantWeightsOnce) {
  const TestProgram test = TwoConvolutions();
  const ir::Program program = WithConstant(BindTestProgram(test), 1);
  const MovedWeights moved = MoveOutputChannelsLast(program);
  ASSERT_TRUE(ir::Verify(moved.program).ok()) << ir::Verify(moved.program);
  ASSERT_THAT(moved.copies, SizeIs(1));
  EXPECT_THAT(moved.program.values[moved.copies[0]].shape.dims, ElementsAre(3, 2, 4, 4));
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = ir::EvaluateNaively(moved.program, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "");
}

TEST(WeightsLast, TransposesThoseOfImagesWithChannelsLast) {
  const TestProgram test = {
      "ChannelsLast",
      "function (X[N, Y, X0, C], K[O, C, I, J]) -> (R) { R[n, y, x, o : N, Y, X0, O] = "
      "+(X[n, y+i-1, x+j, c] * K[o, c, i, j]); }",
      {{DataType::kFloat32, {1, 5, 3, 4}}, {DataType::kFloat32, {7, 4, 3, 2}}}};
  const MovedWeights moved = MoveOutputChannelsLast(WithConstant(BindTestProgram(test), 1));
  ASSERT_THAT(moved.copies, SizeIs(1));
  EXPECT_THAT(moved.program.values[moved.copies[0]].shape.dims, ElementsAre(3, 2, 4, 7));
}

TEST(WeightsLast, LeavesWeightsOfARunAlone) {
  const ir::Program program = BindTestProgram(TwoConvolutions());
  const MovedWeights moved = MoveOutputChannelsLast(program);
  EXPECT_EQ(moved.program, program);
  EXPECT_THAT(moved.copies, IsEmpty());
}

TEST(WeightsLast, LeavesWeightsThatLieSoAlone) {
  const TestProgram test = {
      "Depthwise",
      "function (X[N, C, Y, X0], K[I, J, C]) -> (R) { R[n, c, y, x : N, C, Y, X0] = "
      "+(X[n, c, y+i-1, x+j-1] * K[i, j, c]); }",
      {{DataType::kFloat32, {1, 4, 5, 3}}, {DataType::kFloat32, {3, 3, 4}}}};
  const ir::Program program = WithConstant(BindTestProgram(test), 1);
  EXPECT_EQ(MoveOutputChannelsLast(program).program, program);
}

}  // namespace
}  // namespace tartan::graph
