// SPDX-License-Identifier: Apache-2.0
// Tests the conversion to channels-last layout: results stay the same, and it applies where it
// should.
#include "tile/graph/layouts/channels_last.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::graph::channels_last_test {
namespace {

using ::testing::ElementsAre;
using Dims = std::vector<int64_t>;

TestProgram Make(const std::string& inputs, const std::string& outputs, const std::string& body,
                 std::vector<TensorShape> shapes) {
  return {"Program", "function (" + inputs + ") -> (" + outputs + ") { " + body + " }",
          std::move(shapes)};
}

// A convolution to 9 channels, the operations `what_follows`, and the sum of their result with a
// second convolution. The sum reads the result of `what_follows`.
TestProgram AfterConvolution(const std::string& what_follows, const std::string& more_inputs = "",
                             std::vector<TensorShape> more_shapes = {}) {
  std::vector<TensorShape> shapes = {F32({2, 3, 6, 5}), F32({9, 3, 3, 3}), F32({4, 9, 1, 1})};
  shapes.insert(shapes.end(), more_shapes.begin(), more_shapes.end());
  return Make("X[N, C, Y, X0], K[O, C, I, J], L[M, O, A, B]" + more_inputs, "R",
              "P[n, o, y, x : N, O, Y, X0] = +(X[n, c, y+i-1, x+j-1] * K[o, c, i, j]); " +
                  what_follows + " R[n, m, y, x : N, M, Y, X0] = +(Q[n, o, y, x] * L[m, o, 0, 0]);",
              std::move(shapes));
}

const ir::Value* FindValue(const ir::Program& program, const std::string& name) {
  for (const ir::Value& value : program.values) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

Dims DimsOf(const ir::Program& program, const std::string& name) {
  const ir::Value* value = FindValue(program, name);
  return value == nullptr ? Dims{} : value->shape.dims;
}

ir::Program ExpectSameResults(const TestProgram& test, const ir::Program& program,
                              double tolerance = 0) {
  ir::Program moved = MoveChannelsLast(program);
  EXPECT_TRUE(ir::Verify(moved).ok()) << ir::Verify(moved) << "\n" << ir::ToString(moved);
  const std::vector<HostTensor> inputs = RandomInputs(test, 11);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = ir::EvaluateNaively(moved, inputs);
  EXPECT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  for (size_t o = 0; expected.ok() && actual.ok() && o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], tolerance), "") << ir::ToString(moved);
  }
  return moved;
}

ir::Program ExpectSameResults(const TestProgram& test) {
  return ExpectSameResults(test, BindTestProgram(test));
}

TEST(ChannelsLast, MovesWhatIsBetweenConvolutions) {
  const ir::Program moved = ExpectSameResults(AfterConvolution("Q = (P > 0 ? P : 0);"));
  EXPECT_THAT(DimsOf(moved, "P"), ElementsAre(2, 6, 5, 9));
  EXPECT_THAT(DimsOf(moved, "Q"), ElementsAre(2, 6, 5, 9));
  EXPECT_THAT(DimsOf(moved, "R"), ElementsAre(2, 4, 6, 5)) << "an output keeps its order";
}

TEST(ChannelsLast, ReadsImagesAsTheirLayersStoreThem) {
  // Keras' images have channels last. Its convolutions read transposed copies.
  for (const std::string how :
       {"=(X[n, y, x, c]);", "+(X[n, y, x, c]);", "=(X[n, y - 1, x, c]);"}) {
    const ir::Program moved = ExpectSameResults(
        Make("X[N, Y, X0, C], K[O, C, I, J]", "R",
             "T[n, c, y, x : N, C, Y, X0] = " + how +
                 " P[n, o, y, x : N, O, Y, X0] = +(T[n, c, y+i-1, x+j-1] * K[o, c, i, j]);"
                 " R[n, y, x, o : N, Y, X0, O] = =(P[n, o, y, x]);",
             {F32({2, 6, 5, 8}), F32({9, 8, 3, 3})}));
    EXPECT_THAT(DimsOf(moved, "T"), ElementsAre(2, 6, 5, 8)) << how;
    EXPECT_THAT(DimsOf(moved, "P"), ElementsAre(2, 6, 5, 9)) << how;
  }
}

TEST(ChannelsLast, LeavesTransposesOfMatricesAlone) {
  const ir::Program program = BindTestProgram(Make(
      "X[N, Y, C], K[N, L, C]", "R",
      "T[n, c, y : N, C, Y] = =(X[n, y, c]); R[n, l, y : N, L, Y] = +(K[n, l, c] * T[n, c, y]);",
      {F32({2, 6, 8}), F32({2, 4, 8})}));
  EXPECT_EQ(MoveChannelsLast(program), program);
}

TEST(ChannelsLast, LeavesFewChannelsAlone) {
  TestProgram few = AfterConvolution("Q = (P > 0 ? P : 0);");
  few.inputs = {F32({2, 3, 6, 5}), F32({7, 3, 3, 3}), F32({4, 7, 1, 1})};
  const ir::Program program = BindTestProgram(few);
  EXPECT_EQ(MoveChannelsLast(program), program);
}

TEST(ChannelsLast, TransposesWhatIsBroadcast) {
  const std::string body =
      "S = P + reshape(D, 9, 1, 1); T = S * reshape(E, 1, 9, 6, 1); U = T + G; V = U * H; Q = V - "
      "2;";
  const ir::Program moved = ExpectSameResults(
      AfterConvolution(body, ", D, E, G, H", {F32({9}), F32({54}), F32({5}), F32({2, 1, 1, 5})}));
  EXPECT_THAT(DimsOf(moved, "Q"), ElementsAre(2, 6, 5, 9));
}

TEST(ChannelsLast, GoesThroughPoolsSlicesAndConcatenations) {
  const std::string body =
      "S[n, o, y, x : N, O, Y, X0] = >(P[n, o, y+i-1, x+j-1]), i < 3, j < 3; "
      "T[n, o, y, x : N, O, Y, X0] = =(S[n, o, y, x+1]); "
      "V[n, o, y, x : N, 2*O, Y, X0] = =(T[n, o, y, x]); "
      "W[n, o+O, y, x : N, 2*O, Y, X0] = =(P[n, o, y, x]) default V; "
      "Q[n, o, y, x : N, O, Y, X0] = =(W[n, 2*o, y, x]);";
  const ir::Program moved = ExpectSameResults(AfterConvolution(body));
  for (const char* name : {"S", "T", "Q"}) {
    EXPECT_THAT(DimsOf(moved, name), ElementsAre(2, 6, 5, 9)) << name;
  }
  for (const char* name : {"V", "W"}) {
    EXPECT_THAT(DimsOf(moved, name), ElementsAre(2, 6, 5, 18)) << name;
  }
}

TEST(ChannelsLast, TransposesADefaultThatHasThemInFront) {
  const ir::Program moved = ExpectSameResults(AfterConvolution(
      "Q[n, o, 2*y, x : N, O, Y, X0] = =(P[n, o, 2*y, x]) default D;", ", D", {F32({2, 9, 6, 5})}));
  EXPECT_THAT(DimsOf(moved, "Q"), ElementsAre(2, 6, 5, 9));
}

TEST(ChannelsLast, KeepsTheOrderThatAReshapeReads) {
  const ir::Program moved =
      ExpectSameResults(AfterConvolution("S = P * 2; Q = reshape(S, 2, 9, 6, 5) + P;"));
  EXPECT_THAT(DimsOf(moved, "S"), ElementsAre(2, 9, 6, 5)) << "nothing else reads it";
  EXPECT_THAT(DimsOf(moved, "P"), ElementsAre(2, 6, 5, 9));
}

TEST(ChannelsLast, LeavesAConvolutionThatAReshapeReadsAlone) {
  const TestProgram test =
      Make("X[N, C, Y, X0], K[O, C, I, J]", "R",
           "P[n, o, y, x : N, O, Y, X0] = +(X[n, c, y+i-1, x+j-1] * K[o, c, i, j]); "
           "S = (P > 0 ? P : 0); R = reshape(S, 2, 270);",
           {F32({2, 3, 6, 5}), F32({9, 3, 3, 3})});
  const ir::Program program = BindTestProgram(test);
  EXPECT_EQ(MoveChannelsLast(program), program);
}

// The end of a network: a convolution to 9 channels of 6x5 pixels, flattened, and `what_follows`.
TestProgram Flattened(const std::string& outputs, const std::string& what_follows,
                      TensorShape matrix) {
  return Make("X[N, C, Y, X0], K[O, C, I, J], W[A, B]", outputs,
              "P[n, o, y, x : N, O, Y, X0] = +(X[n, c, y+i-1, x+j-1] * K[o, c, i, j]); "
              "S = (P > 0 ? P : 0); F = reshape(S, 2, 270); " +
                  what_follows,
              {F32({2, 3, 6, 5}), F32({9, 3, 3, 3}), std::move(matrix)});
}

ir::Program WithConstantMatrix(const TestProgram& test) {
  ir::Program program = BindTestProgram(test);
  std::get<ir::Input>(program.values[program.inputs[2]].op).is_constant = true;
  return program;
}

// Tolerance for a different order of summation over a row.
constexpr double kOtherOrder = 1e-5;

TEST(ChannelsLast, FlattensInThatOrderWhatConstantMatricesMultiply) {
  const TestProgram tests[] = {
      Flattened("R", "R[n, m : N, 4] = +(F[n, k] * W[m, k]);", F32({4, 270})),
      Flattened("R", "R[n, m : N, 4] = +(W[k, m] * F[n, k]);", F32({270, 4})),
      Flattened("R, T",
                "R[n, m : N, 4] = +(F[n, k] * W[m, k]); T[m, n : 4, N] = +(F[n, k] * W[m, k]);",
                F32({4, 270})),
  };
  for (const TestProgram& test : tests) {
    const ir::Program moved = ExpectSameResults(test, WithConstantMatrix(test), kOtherOrder);
    EXPECT_THAT(DimsOf(moved, "S"), ElementsAre(2, 6, 5, 9)) << test.code;
    EXPECT_EQ(FindValue(moved, "S_channels_first"), nullptr) << test.code;
  }
}

TEST(ChannelsLast, KeepsTheOrderOfWhatIsFlattenedForOthers) {
  const std::string product = "R[n, m : N, 4] = +(F[n, k] * W[m, k]);";
  const TestProgram tests[] = {
      Flattened("R, T", product + " T = F * 2;", F32({4, 270})),
      Flattened("R, F", product, F32({4, 270})),
      Flattened("R, T", product + " T[n, k : N, 270] = =(F[n, 269 - k]);", F32({4, 270})),
      // Reads every other element; then elements that several rows share.
      Flattened("R", "R[n, m : N, 4] = +(F[n, 2 * k] * W[m, k]);", F32({4, 135})),
      Flattened("R", "R[n, m : N, 4] = +(F[n, k] * W[m, k + n]);", F32({4, 271})),
      Flattened("R", "R[n, m : N, 4] = +(F[n, k] * W[m, k]), k < 100;", F32({4, 270})),
      Flattened("R", "R[n, k : N, 270] = +(F[n, k] * W[m, k]);", F32({4, 270})),
      Flattened("R", "R[n, m : N, 4] = >(F[n, k] * W[m, k]);", F32({4, 270})),
      Flattened("R", "R[n, m : N, 20000] = +(F[n, k] * W[m, k]);", F32({20000, 270})),
  };
  for (const TestProgram& test : tests) {
    const ir::Program program = WithConstantMatrix(test);
    EXPECT_EQ(MoveChannelsLast(program), program) << test.code;
  }
  const TestProgram given = Flattened("R", product, F32({4, 270}));
  const ir::Program program = BindTestProgram(given);
  EXPECT_EQ(MoveChannelsLast(program), program) << "the matrix is not a constant";
}

TEST(ChannelsLast, GathersAlongTheMovedDimension) {
  for (const char* axis : {"0", "1", "2", "3"}) {
    TestProgram test = AfterConvolution(std::string("Q = gather(P, D, ") + axis + ");", ", D",
                                        {{DataType::kInt32, {6}}});
    const Dims sizes = {2, 9, 6, 5};
    test.inputs[3].dims[0] = sizes[axis[0] - '0'];
    const ir::Program moved = ExpectSameResults(test);
    EXPECT_THAT(DimsOf(moved, "Q"), ElementsAre(2, 6, 5, 9)) << axis;
  }
}

TEST(ChannelsLast, KnowsDepthwiseAndTransposedConvolutions) {
  const std::string depthwise =
      "Q[n, o, y, x : N, O, Y, X0] = +(P[n, o, y+i-1, x+j-1] * D[o, i, j]);";
  EXPECT_THAT(DimsOf(ExpectSameResults(AfterConvolution(depthwise, ", D", {F32({9, 3, 3})})), "Q"),
              ElementsAre(2, 6, 5, 9));
  const std::string transposed =
      "S[n, m, 2*y+i, 2*x+j : N, 8, 2*Y, 2*X0] = +(P[n, o, y, x] * D[o, m, i, j]); "
      "Q[n, m, y, x : N, O, Y, X0] = +(S[n, m, 2*y, 2*x]);";
  EXPECT_THAT(
      DimsOf(ExpectSameResults(AfterConvolution(transposed, ", D", {F32({9, 8, 2, 2})})), "S"),
      ElementsAre(2, 12, 10, 8));
}

TEST(ChannelsLast, LeavesMatrixProductsOfManyHeadsAlone) {
  const TestProgram attention =
      Make("Q[B, H, S, D], K[B, H, T, D], V[B, H, T, D]", "O",
           "P[b, h, s, t : B, H, S, T] = +(Q[b, h, s, d] * K[b, h, t, d]); E = exp(P); "
           "O[b, h, s, d : B, H, S, D] = +(E[b, h, s, t] * V[b, h, t, d]);",
           {F32({2, 8, 5, 4}), F32({2, 8, 6, 4}), F32({2, 8, 6, 4})});
  const ir::Program program = BindTestProgram(attention);
  EXPECT_EQ(MoveChannelsLast(program), program);
}

TEST(ChannelsLast, IgnoresEmptyImages) {
  TestProgram empty = AfterConvolution("Q = (P > 0 ? P : 0);");
  empty.inputs[0].dims[0] = 0;
  ExpectSameResults(empty);
}

}  // namespace
}  // namespace tartan::graph::channels_last_test
