// SPDX-License-Identifier: Apache-2.0
// Tests that zero-padded copies of inputs replace conditions in reductions.
#include "tile/graph/pad_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::graph::pad_inputs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TestProgram Convolution(int64_t channels, const std::string& x = "x+j-1") {
  return {"Convolution",
          "function (X[N, Y, X0, C], K[I, J, C, O]) -> (R) { R[n, y, x, o : N, Y, X0, O] = "
          "+(X[n, y+i-1, " +
              x + ", c] * K[i, j, c, o]); }",
          {F32({1, 16, 16, channels}), F32({3, 3, channels, 8})}};
}

PaddedProgram Padded(const ir::Program& program, const std::set<ir::ValueId>& kept = {}) {
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  PaddedProgram padded = PadInputs(program, *spaces, kept);
  EXPECT_TRUE(ir::Verify(padded.program).ok()) << ir::Verify(padded.program);
  return padded;
}

std::vector<std::vector<int64_t>> AddedShapes(const ir::Program& program) {
  std::vector<std::vector<int64_t>> shapes;
  for (const ir::Value& value : Padded(program).program.values) {
    if (value.name.ends_with("_padded")) shapes.push_back(value.shape.dims);
  }
  return shapes;
}

TEST(PadInputs, LeavesSumsWithinTheirInputsAlone) {
  const ir::Program product = BindTestProgram(
      {"Product",
       "function (A[M, K], B[K, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
       {F32({8, 8}), F32({8, 8})}});
  EXPECT_EQ(Padded(product).program, product);
}

TEST(PadInputs, PutsZerosAroundTheImageOfAConvolution) {
  const TestProgram test = Convolution(4);
  const ir::Program program = BindTestProgram(test);
  ASSERT_THAT(AddedShapes(program), ElementsAre(ElementsAre(1, 18, 18, 4)));
  const PaddedProgram padded = Padded(program);
  EXPECT_EQ(padded.program.values[padded.numbers[program.outputs[0]]].name, "R");
  const auto spaces = poly::AnalyzeProgram(padded.program);
  ASSERT_TRUE(spaces.ok());
  EXPECT_THAT((*spaces)[padded.program.outputs[0]]->constraints, IsEmpty());
  const std::vector<HostTensor> inputs = RandomInputs(test, 3);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = ir::EvaluateNaively(padded.program, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "");
}

TEST(PadInputs, LeavesWhatItIsToldToKeep) {
  const ir::Program program = BindTestProgram(Convolution(4));
  EXPECT_EQ(Padded(program, {program.outputs[0]}).program, program);
}

TEST(PadInputs, LeavesSmallWindowsAlone) {
  const ir::Program program = BindTestProgram(
      {"Depthwise",
       "function (X[N, Y, X0, C], K[I, J, C]) -> (R) { R[n, y, x, c : N, Y, X0, C] = "
       "+(X[n, y+i-1, x+j-1, c] * K[i, j, c]); }",
       {F32({1, 16, 16, 8}), F32({3, 3, 8})}});
  EXPECT_EQ(Padded(program).program, program);
}

TEST(PadInputs, LeavesMaximaAlone) {
  const ir::Program program = BindTestProgram(
      {"Maxima",
       "function (X[N, C, L]) -> (R) { R[n, l : N, L] = >(X[n, c, l+i-4]), i < 9; }",
       {F32({2, 16, 32})}});
  EXPECT_EQ(Padded(program).program, program);
}

TEST(PadInputs, LeavesInputsAloneThatWouldGrowToMoreThanTwice) {
  // A 16 x 16 image with padding of 13 would grow to 42 x 42.
  const ir::Program program = BindTestProgram(Convolution(4, "x+13*j-13"));
  EXPECT_THAT(AddedShapes(program), IsEmpty());
}

TEST(PadInputs, LetsSmallImagesGrowBesideManyWeights) {
  const auto convolution = [](int64_t batch) {
    return TestProgram{
        "Convolution",
        "function (X[N, C, Y, X0], K[O, C, I, J]) -> (R) { R[n, o, y, x : N, O, Y, X0] = "
        "+(X[n, c, y+i-1, x+j-1] * K[o, c, i, j]); }",
        {F32({batch, 8, 2, 2}), F32({64, 8, 3, 3})}};
  };
  const TestProgram test = convolution(1);
  const ir::Program program = BindTestProgram(test);
  ASSERT_THAT(AddedShapes(program), ElementsAre(ElementsAre(1, 8, 4, 4)));
  const std::vector<HostTensor> inputs = RandomInputs(test, 3);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = ir::EvaluateNaively(Padded(program).program, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "");
  EXPECT_THAT(AddedShapes(BindTestProgram(convolution(64))), IsEmpty());
}

}  // namespace
}  // namespace tartan::graph::pad_inputs_test
