// SPDX-License-Identifier: Apache-2.0
// Tests that sums of zero-padded tensors become concatenations, and that each part is written once,
// into its place in the result.
#include <gtest/gtest.h>

#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/graph/placements/sums_to_concatenations.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::join_placements_test {
namespace {

constexpr DataType kFloat = DataType::kFloat32;
constexpr DataType kHalf = DataType::kFloat16;

KernelList CompileAndCompare(const TestProgram& program, const CompileOptions& options = {}) {
  const ir::Program bound = BindTestProgram(program);
  const std::vector<HostTensor> inputs = RandomInputs(program, 1);
  const auto expected = ir::EvaluateNaively(bound, inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  auto list = Compile(bound, options);
  EXPECT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  EXPECT_TRUE(actual.ok()) << actual.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << "output " << o;
  }
  return *std::move(list);
}

// The sum of `count` tensors, each scaled and shifted by `width` columns, with `room` columns left
// empty.
TestProgram Sum(int count, int rows, int width, int room = 0) {
  std::string inputs;
  std::string statements;
  std::string sum;
  std::vector<TensorShape> shapes;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&inputs, i == 0 ? "" : ", ", "X", i);
    absl::StrAppend(&statements, "E", i, " = exp(X", i, ");\nP", i, "[r, c + ", i * width, " : ",
                    rows, ", ", count * width + room, "] = +(E", i, "[r, c]);\n");
    absl::StrAppend(&sum, i == 0 ? "" : " + ", "P", i);
    shapes.push_back({kFloat, {rows, width}});
  }
  return {"sum",
          absl::StrCat("function (", inputs, ") -> (Y, Z) {\n", statements, "S = ", sum,
                       ";\nY = 2 * S; Z[r : ", rows, "] = +(S[r, c]); }"),
          shapes};
}

int Contractions(const ir::Program& program, Aggregation aggregation) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    count += contraction != nullptr && contraction->aggregation == aggregation ? 1 : 0;
  }
  return count;
}

int Sums(const ir::Program& program) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    count += elementwise != nullptr && elementwise->op == ScalarOp::kAdd ? 1 : 0;
  }
  return count;
}

ir::Program Joined(const TestProgram& program) {
  return graph::SumsToConcatenations(BindTestProgram(program));
}

TEST(SumsToConcatenations, MakesAConcatenationOfASumOfParts) {
  const ir::Program joined = Joined(Sum(5, 3, 4));
  EXPECT_EQ(Contractions(joined, Aggregation::kAssign), 5);
  EXPECT_EQ(Contractions(joined, Aggregation::kSum), 1);  // the sum over each row
  EXPECT_EQ(Sums(joined), 0);
}

TEST(SumsToConcatenations, LeavesSumsOfPartsThatOverlap) {
  const TestProgram program = {"overlap",
                               "function (A, B, C) -> (S) { P[i : 8] = +(A[i]); "
                               "Q[i + 2 : 8] = +(B[i]); R[i + 5 : 8] = +(C[i]); S = P + Q + R; }",
                               {{kFloat, {3}}, {kFloat, {3}}, {kFloat, {3}}}};
  EXPECT_EQ(Sums(Joined(program)), 2);
  CompileAndCompare(program);
}

TEST(SumsToConcatenations, LeavesSumsWithOtherTerms) {
  const TestProgram program = {
      "others",
      "function (A, B, C, D) -> (S) { P[i : 6] = +(A[i]); Q[i + 2 : 6] = +(B[i]); "
      "R[i + 4 : 6] = +(C[i]); S = P + Q + R + D; }",
      {{kFloat, {2}}, {kFloat, {2}}, {kFloat, {2}}, {kFloat, {6}}}};
  EXPECT_EQ(Sums(Joined(program)), 3);
  CompileAndCompare(program);
}

// A part with another reader is stored separately.
TEST(SumsToConcatenations, LeavesPartsThatAreReadTwice) {
  const TestProgram program = {
      "twice",
      "function (A, B, C) -> (S, T) { P[i : 6] = +(A[i]); Q[i + 2 : 6] = +(B[i]); "
      "R[i + 4 : 6] = +(C[i]); S = P + Q + R; T = P * 2; }",
      {{kFloat, {2}}, {kFloat, {2}}, {kFloat, {2}}}};
  EXPECT_EQ(Sums(Joined(program)), 2);
  CompileAndCompare(program);
}

TEST(SumsToConcatenations, TransposedAndEmptyPartsKeepTheirMeaning) {
  const TestProgram program = {
      "transposed",
      "function (A, B, C) -> (S) { P[j, i : 3, 7] = +(A[i, j]); Q[j, i + 2 : 3, 7] = +(B[i, j]); "
      "R[j, i + 4 : 3, 7] = +(C[i, j]); S = P + Q + R; }",
      {{kFloat, {2, 3}}, {kFloat, {2, 3}}, {kFloat, {3, 3}}}};
  EXPECT_EQ(Sums(Joined(program)), 0);
  CompileAndCompare(program);
  const TestProgram empty = {
      "empty",
      "function (A, B, C) -> (S) { P[i : 4] = +(A[i]); Q[i + 2 : 4] = +(B[i]); "
      "R[i + 4 : 4] = +(C[i]); S = P + Q + R; }",
      {{kFloat, {2}}, {kFloat, {2}}, {kFloat, {0}}}};
  CompileAndCompare(empty);
}

// The pass `upcast-float16` runs earlier, so parts are stored as float32 and read 16-bit inputs.
TEST(SumsToConcatenations, JoinsPartsBesideConvertedAndMovedSixteenBitTensors) {
  for (const int bits : {16, 0}) {
    const std::string type = bits == 0 ? "as_bfloat(X)" : "as_float(X, 16)";
    const TestProgram program = {
        "halves",
        absl::StrCat("function (X, A, B, C) -> (S, T) { H = ", type,
                     "; M[i, j : 1, 4] = =(H[i + 1, j]); P[i : 6] = +(A[i]); "
                     "Q[i + 2 : 6] = +(B[i]); R[i + 4 : 6] = +(C[i]); S = P + Q + R; "
                     "T = as_float(M + M, 32); }"),
        {{kFloat, {2, 4}}, {kHalf, {2}}, {kHalf, {2}}, {kHalf, {2}}}};
    EXPECT_EQ(Sums(Joined(program)), 1);  // M + M
    CompileAndCompare(program);
  }
}

TEST(SumsToConcatenations, ManyPartsAreWrittenIntoOneMemory) {
  for (const int room : {0, 5}) {
    for (const auto& [rows, width] : {std::pair(1, 1), std::pair(3, 7), std::pair(8, 64)}) {
      const KernelList list = CompileAndCompare(Sum(20, rows, width, room));
      int fills = 0;
      int copies = 0;
      for (const Step& step : list.steps) {
        fills += std::holds_alternative<FillStep>(step) ? 1 : 0;
        copies += std::holds_alternative<CopyStep>(step) ? 1 : 0;
      }
      EXPECT_EQ(copies, 0);
      EXPECT_EQ(fills, room == 0 ? 0 : 1);  // fills the columns that no part covers
    }
  }
}

TEST(SumsToConcatenations, ManyPartsOnGpusAndWithReadyKernels) {
  CompileOptions ready;
  ready.tier = Tier::kReady;
  CompileAndCompare(Sum(12, 3, 7), ready);
  CompileOptions gpu;
  gpu.settings.threads = 32;
  gpu.settings.vector_width = 1;
  gpu.settings.has_local_memory = true;
  gpu.settings.max_work_group_size = 32;
  CompileAndCompare(Sum(12, 3, 7), gpu);
  CompileOptions apart;
  apart.disabled_passes = {"fuse"};
  CompileAndCompare(Sum(12, 3, 7), apart);
}

// Elements before the first part keep the values of the given tensor.
TEST(SumsToConcatenations, ManyPartsOverAGivenTensor) {
  std::string statements = "B0[i : 40] = =(D[i]);";
  std::string inputs = "D";
  std::vector<TensorShape> shapes = {{kFloat, {40}}};
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&inputs, ", X", i);
    absl::StrAppend(&statements, "B", i + 1, "[i + ", 3 * i + 1, " : 40] = =(X", i,
                    "[i]) default B", i, ";");
    shapes.push_back({kFloat, {2}});
  }
  CompileAndCompare(
      {"over", absl::StrCat("function (", inputs, ") -> (B12) {", statements, "}"), shapes});
}

}  // namespace
}  // namespace tartan::compiler::join_placements_test
