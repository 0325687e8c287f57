// SPDX-License-Identifier: Apache-2.0
// Tests the fusion of several reductions of a matmul's result into the matmul's launch, and
// compares the results with the naive evaluator.
#include "tile/compiler/launches/fuse_into_consumer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/launches/cell_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/loop/loop_ir.h"

namespace tartan::compiler::join_sums_test {
namespace {

CompileOptions Gpu() {
  CompileOptions options;
  HardwareSettings& gpu = options.settings;
  gpu.threads = gpu.max_work_group_size = 256;
  gpu.has_local_memory = true;
  gpu.vector_width = 1;
  gpu.compute_units = 132;
  gpu.local_memory_bytes = 48 << 10;
  gpu.register_bytes = 64 << 10;
  gpu.batches_launches = true;
  return options;
}

void ExpectLaunches(const TestProgram& program, int launches) {
  ExpectNaiveLaunches(program, Gpu(), RandomInputs(program, 1), launches, 0);
}

// Expects one launch with the pass, and two without it.
void ExpectJoined(const TestProgram& program) {
  SCOPED_TRACE(program.name);
  ExpectLaunches(program, 1);
  CompileOptions apart = Gpu();
  apart.disabled_passes.insert("fuse-into-consumer");
  ExpectNaiveLaunches(program, apart, RandomInputs(program, 1), 2, 0);
}

TEST(FuseIntoConsumer, AStepOfALstmIsOneLaunch) {
  for (int64_t rows : {1, 3, 17}) {
    for (int64_t states : {2, 5, 32, 100}) ExpectJoined(LstmCell(rows, states));
  }
}

TEST(FuseIntoConsumer, AStepOfAGruThatReadsItsStateTwiceIsOneLaunch) {
  for (int64_t rows : {1, 3, 17}) {
    for (int64_t states : {2, 5, 32, 100}) ExpectJoined(GruCell(rows, states));
  }
}

// The first half of the rows is divided by the second half, and the result is transposed.
TEST(FuseIntoConsumer, SumsMayLieAlongAnyDimension) {
  ExpectJoined({"halves",
                "function (X[K, N], W[M, K]) -> (Y) {\n"
                "Z[i, j : M, N] = +(W[i, k] * X[k, j]);\n"
                "A[i, j : 6, N] = =(Z[i + 6, j]); B[i, j : 6, N] = =(Z[i, j]);\n"
                "T = A / (1 + B * B); Y[j, i : N, 6] = =(T[i, j]); }",
                {F32({20, 8}), F32({12, 20})}});
}

TEST(FuseIntoConsumer, WhatIsAggregatedMayBeTheGreatest) {
  ExpectJoined({"greatest",
                "function (X[M, K]) -> (Y) {\n"
                "Z[i : M] = >(X[i, k]);\n"
                "A[i : 9] = =(Z[i]); B[i : 9] = =(Z[i + 9]); Y = A - 2 * B; }",
                {F32({18, 70})}});
}

TEST(FuseIntoConsumer, WhatIsNotANumberStaysInItsElement) {
  const TestProgram program = LstmCell(2, 6);
  std::vector<HostTensor> inputs = RandomInputs(program, 2);
  const float infinity = std::numeric_limits<float>::infinity();
  inputs[0] = HostTensor::FromVector(
      inputs[0].shape(),
      std::vector<float>{infinity, 0, -infinity, 1, 2, 3, NAN, 0, 0,        0, 0, 0, 1, 1, 1, 1,
                         1,        1, 0,         0, 0, 0, 0,   0, infinity, 2, 2, 2, 2, 2, 0, 0,
                         0,        0, 0,         0, 1, 1, NAN, 1, 1,        1, 0, 0, 0, 0, 0, 0});
  ExpectNaiveLaunches(program, Gpu(), inputs, 1, 0);
}

TEST(FuseIntoConsumer, WhatOthersReadIsComputedByItself) {
  TestProgram seen = GruCell(3, 32);
  seen.code.replace(seen.code.find("(Y)"), 3, "(Y, Z)");
  ExpectLaunches(seen, 2);
  TestProgram read = GruCell(3, 32);
  read.code.replace(read.code.find("(Y)"), 3, "(Y, T)");
  read.code.replace(read.code.rfind('}'), 1, "T[b, 0 : B, 1] = +(Z[b, g] * Z[b, g]); }");
  ExpectLaunches(read, 3);
}

TEST(FuseIntoConsumer, SumsAtUnevenDistancesStayApart) {
  ExpectLaunches({"uneven",
                  "function (X[B, K], W[G, K]) -> (Y) {\n"
                  "Z[b, g : B, G] = +(X[b, k] * W[g, k]);\n"
                  "A[b, h : B, 8] = =(Z[b, h]); C[b, h : B, 8] = =(Z[b, h + 8]);\n"
                  "D[b, h : B, 8] = =(Z[b, h + 20]); Y = A * C + D; }",
                  {F32({2, 30}), F32({28, 30})}},
                 2);
}

// A fused launch would compute each sum twice.
TEST(FuseIntoConsumer, SumsThatNeighboursShareStayApart) {
  ExpectLaunches({"neighbours",
                  "function (X[B, K], W[G, K]) -> (Y) {\n"
                  "Z[b, g : B, G] = +(X[b, k] * W[g, k]);\n"
                  "A[b, h : B, 15] = =(Z[b, h]); C[b, h : B, 15] = =(Z[b, h + 1]); Y = A * C; }",
                  {F32({2, 30}), F32({16, 30})}},
                 2);
}

// Returns the text of the first kernel.
std::string KernelOf(const ir::Program& program) {
  const auto list = Compile(program, Gpu());
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() && !list->kernels.empty() ? loop::ToString(list->kernels[0]) : "";
}

// A value that is read along with the sums is loaded before the barriers and used after them.
TEST(FuseIntoConsumer, WhatIsReadBesideTheSumsIsAskedForFirst) {
  const std::string ahead = "let in0_ahead: float32 =";
  ir::Program program = BindTestProgram(LstmCell(1, 32));
  const std::string text = KernelOf(program);
  EXPECT_LT(text.find(ahead), text.find("barrier")) << text;
  EXPECT_NE(text.find("barrier"), std::string::npos) << text;
  // A state that is updated in place must not be loaded early: another work-item may overwrite it.
  auto& cell = std::get<ir::Input>(program.values[program.inputs[2]].op);
  cell.is_state = true;
  cell.next = 1;
  EXPECT_EQ(KernelOf(program).find("_ahead"), std::string::npos);
}

// Work-groups of a launch run in any order, so none may overwrite a state that others still read. A
// copy of the state would take longer than a second launch.
TEST(FuseIntoConsumer, StatesThatAreWrittenOverKeepTwoLaunches) {
  ir::Program program = BindTestProgram(LstmCell(1, 32));
  const auto be_state = [&](int input, int next) {
    auto& state = std::get<ir::Input>(program.values[program.inputs[input]].op);
    state.is_state = true;
    state.next = next;
  };
  const auto launches = [&] {
    const auto list = Compile(program, Gpu());
    EXPECT_TRUE(list.ok()) << list.status();
    for (const Step& step : list->steps) EXPECT_TRUE(std::holds_alternative<LaunchStep>(step));
    return list->steps.size();
  };
  be_state(2, 1);  // each work-group reads the cell state exactly where it writes
  EXPECT_EQ(launches(), 1);
  be_state(1, 0);
  EXPECT_EQ(launches(), 2);
}

}  // namespace
}  // namespace tartan::compiler::join_sums_test
