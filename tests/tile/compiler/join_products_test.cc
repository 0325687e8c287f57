// SPDX-License-Identifier: Apache-2.0
// Tests which matmuls of one tensor with several constant matrices are joined, and that results
// stay the same.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/graph/matmul/fuse_parallel_matmuls.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::compiler::join_products_test {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

// Marks the inputs from `first_constant` on as known at load.
ir::Program Bound(const TestProgram& program, size_t first_constant = 1) {
  ir::Program bound = BindTestProgram(program);
  for (size_t i = first_constant; i < bound.inputs.size(); ++i) {
    std::get<ir::Input>(bound.values[bound.inputs[i]].op).is_constant = true;
  }
  return bound;
}

// Counts the matmuls of a program.
int Products(const ir::Program& program) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    count += contraction != nullptr && contraction->combination == Combination::kMultiply ? 1 : 0;
  }
  return count;
}

int ProductsAfter(const ir::Program& program) {
  const ir::Program joined = graph::FuseParallelMatmuls(program);
  EXPECT_TRUE(ir::VerifyStored(joined).ok()) << ir::VerifyStored(joined);
  return Products(joined);
}

void ExpectSameResults(const TestProgram& program, const ir::Program& bound) {
  const std::vector<HostTensor> inputs = RandomInputs(program, 3);
  const auto expected = ir::EvaluateNaively(bound, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto joined = ir::EvaluateNaively(graph::FuseParallelMatmuls(bound), inputs);
  ASSERT_TRUE(joined.ok()) << joined.status();
  const auto list = Compile(bound, {});
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*joined)[o], (*expected)[o], 0), "") << "output " << o;
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << "output " << o;
  }
}

// Projects 6 rows to queries, keys and values of `columns` each, and computes attention from them.
TestProgram Attention(std::array<int, 3> columns, const std::string& after, DataType type = kFloat,
                      const std::string& inputs = "", std::vector<TensorShape> shapes = {}) {
  std::string code = absl::StrCat("function (X, A, B, C", inputs, ") -> (R, S) {\n");
  const std::string names = "ABC";
  for (int i = 0; i < 3; ++i) {
    const std::string m(1, names[i]);
    absl::StrAppend(&code, "P", m, "[i, j : 6, ", columns[i], "] = +(X[i, k] * ", m, "[k, j]);\n");
    absl::StrAppend(&code, "T", m, " = ", absl::StrReplaceAll(after, {{"$", m}}), ";\n");
  }
  absl::StrAppend(&code,
                  "R[i, l : 6, 6] = +(TA[i, j] * TB[l, j]);\n"
                  "S[i, j : 6, ",
                  columns[2], "] = +(R[i, l] * TC[l, j]); }");
  std::vector<TensorShape> all = {{type, {6, 5}}};
  for (const int count : columns) all.push_back({type, {5, count}});
  all.insert(all.end(), shapes.begin(), shapes.end());
  return {"attention", code, all};
}

TEST(FuseParallelMatmuls, JoinsQueriesKeysAndValuesOfUnequalSizes) {
  const TestProgram program = Attention({8, 8, 3}, "P$");
  const ir::Program bound = Bound(program);
  EXPECT_EQ(Products(bound), 5);
  EXPECT_EQ(ProductsAfter(bound), 3);
  ExpectSameResults(program, bound);
}

TEST(FuseParallelMatmuls, JoinsWhatFollowsWithConstantsOfTheColumns) {
  const TestProgram program = Attention({8, 8, 4}, "0.5 * (P$ + U$)", kFloat, ", UA, UB, UC",
                                        {{kFloat, {8}}, {kFloat, {8}}, {kFloat, {4}}});
  const ir::Program bound = Bound(program);
  EXPECT_EQ(ProductsAfter(bound), 3);
  ExpectSameResults(program, bound);
}

TEST(FuseParallelMatmuls, JoinsMatricesIn16Bits) {
  const TestProgram program = Attention({8, 8, 4}, "P$", DataType::kFloat16);
  EXPECT_EQ(ProductsAfter(Bound(program)), 3);
}

TEST(FuseParallelMatmuls, LeavesProductsWithOtherWorkBehindTheSum) {
  // A gated layer: one kernel computes the sigmoid, the other matmul's kernel multiplies.
  const TestProgram gate = {"gate",
                            "function (X, A, B) -> (R) { P[i, j : 6, 8] = +(X[i, k] * A[k, j]);"
                            " Q[i, j : 6, 8] = +(X[i, k] * B[k, j]); R = sigmoid(P) * Q; }",
                            {{kFloat, {6, 5}}, {kFloat, {5, 8}}, {kFloat, {5, 8}}}};
  EXPECT_EQ(ProductsAfter(Bound(gate)), 2);
  // The bias U is not a constant.
  EXPECT_EQ(ProductsAfter(Bound(Attention({8, 8, 8}, "P$ + U", kFloat, ", U", {{kFloat, {6, 8}}}))),
            5);
}

TEST(FuseParallelMatmuls, LeavesOutputs) {
  const TestProgram program = {"outputs",
                               "function (X, A, B) -> (P, Q) { P[i, j : 6, 8] = +(X[i, k] * A[k, "
                               "j]); Q[i, j : 6, 8] = +(X[i, k] * B[k, j]); }",
                               {{kFloat, {6, 5}}, {kFloat, {5, 8}}, {kFloat, {5, 8}}}};
  EXPECT_EQ(ProductsAfter(Bound(program)), 2);
}

TEST(FuseParallelMatmuls, LeavesMatricesThatChangeOrAreReadElsewhere) {
  const TestProgram program = Attention({8, 8, 4}, "P$");
  EXPECT_EQ(ProductsAfter(Bound(program, 4)), 5);
  // The last two matrices are constants and are joined; the first one is not.
  EXPECT_EQ(ProductsAfter(Bound(program, 2)), 4);
  TestProgram twice = program;
  twice.code.replace(twice.code.rfind("}"), 1, "V[k : 5] = +(A[k, j]); }");
  twice.code.replace(twice.code.find("(R, S)"), 6, "(R, S, V)");
  EXPECT_EQ(ProductsAfter(Bound(twice)), 4);
}

TEST(FuseParallelMatmuls, LeavesProductsOfOtherTensorsAndOtherForms) {
  const TestProgram program = {
      "forms",
      "function (X, A, B, C) -> (R, S) { P[i, j : 6, 5] = +(X[i, k] * A[k, j]);"
      " Q[i, j : 6, 5] = +(X[i, k] * B[j, k]); Y[i, j : 6, 5] = +(X[i + 1, k] * C[k, j]);"
      " R[i, l : 6, 6] = +(P[i, j] * Q[l, j]); S[i, l : 6, 6] = +(P[i, j] * Y[l, j]); }",
      {{kFloat, {6, 5}}, {kFloat, {5, 5}}, {kFloat, {5, 5}}, {kFloat, {5, 5}}}};
  const ir::Program bound = Bound(program);
  EXPECT_EQ(graph::FuseParallelMatmuls(bound), bound);
}

}  // namespace
}  // namespace tartan::compiler::join_products_test
