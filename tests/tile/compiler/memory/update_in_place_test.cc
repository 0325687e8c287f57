// SPDX-License-Identifier: Apache-2.0
// Tests in-place updates of states: results agree with the naive evaluator for every order of reads
// and writes.
#include "tile/compiler/update_in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler::update_in_place_test {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

// `next` contains, for each input, the output that is its next value; -1: not a state.
KernelList CompileWithStates(const TestProgram& program, const std::vector<int>& next,
                             const CompileOptions& options = {}) {
  ir::Program bound = BindTestProgram(program);
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i] < 0) continue;
    std::get<ir::Input>(bound.values[bound.inputs[i]].op) = {.is_state = true, .next = next[i]};
  }
  auto list = Compile(bound, options);
  EXPECT_TRUE(list.ok()) << list.status();
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i] < 0) continue;
    EXPECT_EQ(list->outputs[next[i]], list->inputs[i]) << "input " << i;
  }
  return *std::move(list);
}

int64_t Copies(const KernelList& list) {
  return std::count_if(list.steps.begin(), list.steps.end(),
                       [](const Step& step) { return std::holds_alternative<CopyStep>(step); });
}

std::vector<CompileOptions> Tiers() {
  CompileOptions ready;
  ready.tier = Tier::kReady;
  return {CompileOptions(), ready};
}

TEST(UpdateInPlace, WritesElementwiseUpdatesOverTheStates) {
  for (const int64_t size : {0, 1, 7, 64, 1003}) {
    const TestProgram program = {
        "momentum",
        "function (P[N], V[N], G[N]) -> (NP, NV) { NV = 0.9 * V + G; NP = P - 0.1 * NV; }",
        {{kFloat, {size}}, {kFloat, {size}}, {kFloat, {size}}}};
    for (const CompileOptions& options : Tiers()) {
      const KernelList list = CompileWithStates(program, {0, 1, -1}, options);
      // Ready (dynamic-shape) kernels keep full vectors, so other sizes need a copy.
      if (options.tier == Tier::kExact || size % 16 == 0) {
        EXPECT_EQ(Copies(list), 0) << size;
        EXPECT_EQ(list.steps.size(), size > 0 ? 1u : 0u) << size;
      }
      ExpectNaiveResults(program, list);
    }
  }
}

// An Adam update: a parameter and its two averages, unchanged if the step is skipped.
TEST(UpdateInPlace, OneKernelUpdatesAParameterAndItsAverages) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1003}, std::vector<int64_t>{17, 33},
                                           std::vector<int64_t>{8, 4, 3, 3}}) {
    const TensorShape shape{kFloat, dims};
    const TestProgram program = {
        "adam",
        "function (P, S, T, G, R, OK) -> (K0, K1, K2) { M = 0.9 * S + 0.1 * G; "
        "V = 0.99 * T + 0.01 * G * G; NP = P - R * M / (sqrt(abs(V)) + 0.1); "
        "K0 = OK ? NP : P; K1 = OK ? M : S; K2 = OK ? V : T; }",
        {shape, shape, shape, shape, {kFloat, {}}, {DataType::kBool, {}}}};
    for (const CompileOptions& options : Tiers()) {
      const KernelList list = CompileWithStates(program, {0, 1, 2, -1, -1, -1}, options);
      if (options.tier == Tier::kExact) {
        EXPECT_EQ(static_cast<int64_t>(list.steps.size()) - Copies(list), 1);
      }
      ExpectNaiveResults(program, list);
    }
  }
}

// Drivers name files by kernels, and file names have at most 255 characters.
TEST(UpdateInPlace, NamesOfKernelsDoNotGrowWithTheNumberOfStates) {
  TestProgram program = {"many", "function (", {}};
  std::string outputs;
  std::string statements;
  std::vector<int> next;
  for (int i = 0; i < 12; ++i) {
    absl::StrAppend(&program.code, i > 0 ? ", " : "", "P", i, ", S", i, ", G", i);
    absl::StrAppend(&outputs, i > 0 ? ", " : "", "NP", i, ", NS", i);
    absl::StrAppend(&statements, "NS", i, " = 0.9 * S", i, " + G", i, "; NP", i, " = P", i,
                    " - 0.1 * NS", i, "; ");
    for (int k = 0; k < 3; ++k) program.inputs.push_back({kFloat, {8}});
    next.insert(next.end(), {2 * i, 2 * i + 1, -1});
  }
  absl::StrAppend(&program.code, ") -> (", outputs, ") { ", statements, "}");
  const KernelList list = CompileWithStates(program, next);
  absl::flat_hash_set<std::string> names;
  for (const loop::Kernel& kernel : list.kernels) {
    EXPECT_LT(kernel.name.size(), 80u) << kernel.name;
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
  }
  ExpectNaiveResults(program, list);
}

// A matmul with a long K dimension keeps its large tiles; the update has its own kernel.
TEST(UpdateInPlace, UpdatesJoinProductsOfFewTermsAlone) {
  for (const auto& [terms, kernels] : {std::pair(4, 1u), std::pair(32, 1u), std::pair(33, 2u)}) {
    const TestProgram program = {
        "descent",
        "function (P[I, J], A[K, I], B[K, J]) -> (N) { G[i, j : I, J] = +(A[k, i] * B[k, j]); "
        "N = P - 0.1 * G; }",
        {{kFloat, {24, 48}}, {kFloat, {terms, 24}}, {kFloat, {terms, 48}}}};
    const KernelList list = CompileWithStates(program, {0, -1, -1});
    EXPECT_EQ(list.steps.size(), kernels) << terms;
    ExpectNaiveResults(program, list);
  }
}

CompileOptions ForGpu() {
  CompileOptions options;
  options.settings.threads = 32;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  options.settings.max_work_group_size = 64;
  options.settings.compute_units = 2;
  return options;
}

// A sum over the batch, and the operations that depend on its being finite, are one fused row
// kernel.
TEST(UpdateInPlace, ChainsWriteOverTheirStates) {
  for (const int64_t size : {64, 7}) {
    const TestProgram program = {
        "tail",
        "function (L[N], S, Q, B[M], D[K, M]) -> (NS, NQ, NB) { T[] = +(L[n]); "
        "OK = S < 10 && T - T == 0; NS = OK ? 0 * S : S + 1; NQ = OK ? Q + T : Q; "
        "G[m : M] = +(D[k, m]); NB = OK ? B - 0.1 * G : B; }",
        {{kFloat, {size}}, {kFloat, {}}, {kFloat, {}}, {kFloat, {size}}, {kFloat, {5, size}}}};
    for (const CompileOptions& options : {CompileOptions(), ForGpu()}) {
      const KernelList list = CompileWithStates(program, {-1, 0, 1, 2, -1}, options);
      EXPECT_EQ(Copies(list), 0) << size;
      ExpectNaiveResults(program, list);
    }
  }
}

// The first work-item of a row would overwrite elements that the others still read.
TEST(UpdateInPlace, CopiesWhereNeighboursReadWhatOneWrites) {
  const TestProgram program = {
      "held",
      "function (X[R, N], S[R, 1]) -> (NS, Y) { T[r, 0 : R, 1] = +(X[r, n]); NS = S + 0.5 * T; "
      "Y = X * NS; }",
      {{kFloat, {3, 200}}, {kFloat, {3, 1}}}};
  const KernelList list = CompileWithStates(program, {-1, 0}, ForGpu());
  EXPECT_EQ(list.kernels.size(), 1u);
  EXPECT_EQ(Copies(list), 1);
  ExpectNaiveResults(program, list);
}

TEST(UpdateInPlace, MovesAnUpdateBehindOtherReaders) {
  for (const auto& [rows, columns] : {std::pair(8, 32), std::pair(9, 13)}) {
    const TestProgram program = {
        "layer",
        "function (W[K, N], X[M, K], D[M, N]) -> (NW, DX) {"
        "  G[k, n : K, N] = +(X[m, k] * D[m, n]);"
        "  NW = W - 0.1 * G;"
        "  DX[m, k : M, K] = +(D[m, n] * W[k, n]); }",
        {{kFloat, {rows, columns}}, {kFloat, {5, rows}}, {kFloat, {5, columns}}}};
    for (const CompileOptions& options : Tiers()) {
      const KernelList list = CompileWithStates(program, {0, -1, -1}, options);
      EXPECT_LE(Copies(list), rows == 8 ? 0 : 1);
      ExpectNaiveResults(program, list);
    }
  }
}

// Result rows are shorter than a vector, and such a reduction has a special plan.
TEST(UpdateInPlace, UpdatesWeightsOfConvolutionsByThemselves) {
  const TestProgram program = {
      "weights",
      "function (W[O, C, 3, 3], X[N, C, 3, 3], D[N, O]) -> (NW) {"
      "  G[o, c, a, b : O, C, 3, 3] = +(X[n, c, a, b] * D[n, o]);"
      "  NW = W - 0.1 * (G * 2); }",
      {{kFloat, {16, 4, 3, 3}}, {kFloat, {5, 4, 3, 3}}, {kFloat, {5, 16}}}};
  const KernelList list = CompileWithStates(program, {0, -1, -1});
  EXPECT_EQ(list.kernels.size(), 2u);
  EXPECT_EQ(Copies(list), 0);
  ExpectNaiveResults(program, list);
}

TEST(UpdateInPlace, CopiesWhereTheOldValueIsNeededForTheNewOnesUse) {
  // The matmul reads both the old and the new state.
  const TestProgram program = {"both",
                               "function (S[N, N]) -> (NS, P) { NS = S + 1;"
                               " P[i, j : N, N] = +(S[i, k] * NS[k, j]); }",
                               {{kFloat, {6, 6}}}};
  const KernelList list = CompileWithStates(program, {0});
  EXPECT_EQ(Copies(list), 1);
  ExpectNaiveResults(program, list);
}

TEST(UpdateInPlace, CopiesWhereElementsAreReadElsewhereThanWritten) {
  for (const char* code : {"function (S[N, N]) -> (NS) { NS[i, j : N, N] = =(S[j, i]); }",
                           "function (S[N, N]) -> (NS) { NS[i, j : N, N] = +(S[i, k] * S[k, j]); }",
                           "function (S[N, N]) -> (NS) { M[i, j : N, N] = =(S[N - 1 - i, j]);"
                           " NS = S + M; }"}) {
    const TestProgram program = {"moved", code, {{kFloat, {7, 7}}}};
    for (const CompileOptions& options : Tiers()) {
      const KernelList list = CompileWithStates(program, {0}, options);
      EXPECT_EQ(Copies(list), 1) << code;
      ExpectNaiveResults(program, list);
    }
  }
}

TEST(UpdateInPlace, ExchangesStates) {
  const TestProgram program = {"exchange",
                               "function (A[N], B[N]) -> (NA, NB, C) { NA = B; NB = A; C = A; }",
                               {{kFloat, {5}}, {kFloat, {5}}}};
  ExpectNaiveResults(program, CompileWithStates(program, {0, 1}));
  const TestProgram delayed = {"delayed",
                               "function (A[N], B[N]) -> (NA, NB) { NA = B; NB = B + 1; }",
                               {{kFloat, {5}}, {kFloat, {5}}}};
  ExpectNaiveResults(delayed, CompileWithStates(delayed, {0, 1}));
}

TEST(UpdateInPlace, GivesTheOldValueWhereAnOutputHandsItOn) {
  const TestProgram program = {"old",
                               "function (A[N], D[N]) -> (NA, Old) { NA = A + D; Old = A; }",
                               {{kFloat, {5}}, {kFloat, {5}}}};
  const KernelList list = CompileWithStates(program, {0, -1});
  EXPECT_NE(list.outputs[1], list.inputs[0]);
  ExpectNaiveResults(program, list);
}

TEST(UpdateInPlace, LeavesAStateThatDoesNotChange) {
  const TestProgram program = {
      "same", "function (A[N]) -> (NA, Y) { NA = A; Y = A * 2; }", {{kFloat, {5}}}};
  const KernelList list = CompileWithStates(program, {0});
  EXPECT_EQ(list.steps.size(), 1u);
  ExpectNaiveResults(program, list);
}

TEST(UpdateInPlace, OneValueForTwoStates) {
  const TestProgram program = {"twice",
                               "function (A[N], B[N], D[N]) -> (NA, NB) { S = A + B * D;"
                               " NA = S; NB = S; }",
                               {{kFloat, {5}}, {kFloat, {5}}, {kFloat, {5}}}};
  ExpectNaiveResults(program, CompileWithStates(program, {0, 1, -1}));
}

TEST(UpdateInPlace, ThirtyTwoKernelsOfOneFormStayOne) {
  std::string inputs;
  std::string outputs;
  std::string statements;
  TestProgram program{"many", "", {}};
  std::vector<int> next;
  for (int i = 0; i < 32; ++i) {
    const std::string n = std::to_string(i);
    inputs += (i > 0 ? ", P" : "P") + n + "[N], G" + n + "[N]";
    outputs += (i > 0 ? ", Q" : "Q") + n;
    statements += "Q" + n + " = P" + n + " - 0.1 * G" + n + "; ";
    program.inputs.insert(program.inputs.end(), {{kFloat, {40}}, {kFloat, {40}}});
    next.insert(next.end(), {i, -1});
  }
  program.code = "function (" + inputs + ") -> (" + outputs + ") { " + statements + "}";
  const KernelList list = CompileWithStates(program, next);
  EXPECT_EQ(Copies(list), 0);
  EXPECT_EQ(list.kernels.size(), 1u);
  ExpectNaiveResults(program, list);
}

}  // namespace
}  // namespace tartan::compiler::update_in_place_test
