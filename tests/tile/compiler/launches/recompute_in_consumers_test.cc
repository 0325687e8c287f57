// SPDX-License-Identifier: Apache-2.0
// Tests producer recomputation: every work-group of a consumer repeats a producer launch of one
// work-group. Checks the number of launches, and compares the results with the naive evaluator.
#include "tile/compiler/launches/recompute_in_consumers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler {
namespace {

CompileOptions Gpu() {
  CompileOptions options;
  HardwareSettings& gpu = options.settings;
  gpu.threads = gpu.max_work_group_size = 256;
  gpu.has_local_memory = true;
  gpu.vector_width = 4;
  gpu.compute_units = 132;
  gpu.local_memory_bytes = 48 << 10;
  gpu.matrix_local_bytes = 160 << 10;
  gpu.matrix_rate = 2048;
  gpu.batches_launches = true;
  return options;
}

// Normalizes one row of `count` elements and multiplies it by a matrix that may change between
// runs.
std::string Normalised(const std::string& name) {
  return absl::StrCat("M_", name, "[n, 0 : 1, 1] = +(X[n, k]); C_", name, " = X - M_", name,
                      " / K; V_", name, "[n, 0 : 1, 1] = +(C_", name, "[n, k] * C_", name,
                      "[n, k]); ", name, " = C_", name, " / sqrt(V_", name, " / K + 0.001);\n");
}

TEST(RecomputeInConsumers, ANormalisationIsPartOfTheProductThatReadsIt) {
  for (int k : {96, 101}) {
    const TestProgram program = {
        "normalised_product",
        absl::StrCat("function (X[N, K], W[K, J]) -> (Y) {\n", Normalised("A"),
                     "Y[n, j : 1, J] = +(A[n, k] * W[k, j]);\n}"),
        {{DataType::kFloat32, {1, k}}, {DataType::kFloat32, {k, 40}}}};
    ExpectNaiveLaunches(program, Gpu(), RandomInputs(program, 1), 1, 0);
    CompileOptions apart = Gpu();
    apart.disabled_passes.insert("recompute-in-consumers");
    ExpectNaiveLaunches(program, apart, RandomInputs(program, 1), 2, 0);
  }
}

TEST(RecomputeInConsumers, TwoReadersComputeItBoth) {
  const TestProgram program = {
      "two_products",
      absl::StrCat("function (X[N, K], W[K, J], U[K, I]) -> (Y, Z) {\n", Normalised("A"),
                   "Y[n, j : 1, J] = +(A[n, k] * W[k, j]);\n",
                   "Z[n, i : 1, I] = >(A[n, k] * U[k, i]);\n}"),
      {{DataType::kFloat32, {1, 70}},
       {DataType::kFloat32, {70, 40}},
       {DataType::kFloat32, {70, 33}}}};
  ExpectNaiveLaunches(program, Gpu(), RandomInputs(program, 2), 2, 0);
}

TEST(RecomputeInConsumers, WhatIsAnOutputIsWrittenByALaunchOfItsOwn) {
  const TestProgram program = {
      "seen",
      absl::StrCat("function (X[N, K], W[K, J]) -> (A, Y) {\n", Normalised("A"),
                   "Y[n, j : 1, J] = +(A[n, k] * W[k, j]);\n}"),
      {{DataType::kFloat32, {1, 70}}, {DataType::kFloat32, {70, 40}}}};
  ExpectNaiveLaunches(program, Gpu(), RandomInputs(program, 3), 2, 0);
}

// Returns whether the launch that computes Y, the next value of the state X, updates X in place.
bool IsInPlace(const std::string& code, const std::vector<TensorShape>& inputs) {
  ir::Program program = BindTestProgram({"state", code, inputs});
  auto& state = std::get<ir::Input>(program.values[program.inputs[0]].op);
  state.is_state = true;
  state.next = 0;
  const auto list = Compile(program, Gpu());
  EXPECT_TRUE(list.ok()) << list.status();
  const bool has_copies = std::any_of(list->steps.begin(), list->steps.end(), [](const Step& step) {
    return std::holds_alternative<CopyStep>(step);
  });
  EXPECT_EQ(list->steps.size(), has_copies ? 2 : 1);
  return !has_copies;
}

TEST(RecomputeInConsumers, StatesAreWrittenOverWhereOnlyTheirOwnPlaceIsRead) {
  const TensorShape row = {DataType::kFloat32, {1, 300}};
  EXPECT_TRUE(
      IsInPlace("function (X[N, K], Z[N, K]) -> (Y) { M[n, 0 : 1, 1] = +(Z[n, k]); Y = X + M; }",
                {row, row}));
  EXPECT_FALSE(
      IsInPlace("function (X[N, K]) -> (Y) { M[n, 0 : 1, 1] = +(X[n, k]); Y = X * M; }", {row}));
}

// Recomputation in many work-groups would delay each of them.
TEST(RecomputeInConsumers, ManyGroupsHaveItComputedOnce) {
  const TestProgram program = {
      "wide_product",
      absl::StrCat("function (X[N, K], W[K, J]) -> (Y) {\n", Normalised("A"),
                   "Y[n, j : 1, J] = +(A[n, k] * W[k, j]);\n}"),
      {{DataType::kFloat32, {1, 64}}, {DataType::kFloat32, {64, 2100}}}};
  CompileOptions few = Gpu();
  few.settings.compute_units = 2;
  ExpectNaiveLaunches(program, few, RandomInputs(program, 4), 2, 0);
}

// Several rows need several work-groups, and each consumer needs all of them.
TEST(RecomputeInConsumers, SeveralGroupsStayALaunch) {
  const TestProgram program = {
      "rows",
      "function (X[N, K], W[K, J]) -> (Y) {\n"
      "M[n, 0 : N, 1] = >(X[n, k]); E = exp(X - M);\n"
      "S[n, 0 : N, 1] = +(E[n, k]); A = E / S; Y[n, j : N, J] = +(A[n, k] * W[k, j]);\n}",
      {{DataType::kFloat32, {5, 600}}, {DataType::kFloat32, {600, 40}}}};
  ExpectNaiveLaunches(program, Gpu(), RandomInputs(program, 5), 2, 0);
}

}  // namespace
}  // namespace tartan::compiler
