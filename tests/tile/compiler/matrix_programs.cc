// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/matrix_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/gpu/few_rows_search.h"
#include "tile/plan/matrix/matrix_search.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan {
namespace {

std::vector<MatrixProgram> MakePrograms() {
  const std::string matmul =
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
  const std::string transposed =
      "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }";
  const std::string convolution =
      "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (R) { O[n, x, y, co : N, X, Y, CO] = "
      "+(D[n, x+i-1, y+j-1, ci] * K[i, j, ci, co]); R = (O > 0 ? O : 0); }";
  return {
      {"Whole", transposed, {{64, 64}, {64, 64}}},
      {"SeveralSteps", transposed, {{128, 160}, {96, 160}}},
      {"Primes", matmul, {{67, 37}, {37, 29}}},
      {"Ones", matmul, {{1, 5}, {5, 1}}},
      {"OneRow", matmul, {{1, 72}, {72, 40}}},
      {"RowsThatStepsDoNotDivide", matmul, {{70, 72}, {72, 40}}},
      {"ConstantFactor", matmul, {{70, 72}, {72, 40}}, {false, true}},
      {"ConstantFactors", matmul, {{33, 64}, {64, 24}}, {true, false}},
      {"BothTransposed",
       "function (A[L, M], B[N, L]) -> (C) { C[i, j : M, N] = +(A[k, i] * B[j, k]); }",
       {{48, 72}, {40, 48}}},
      {"LeftTransposed",
       "function (A[L, M], B[L, N]) -> (C) { C[i, j : M, N] = +(A[k, i] * B[k, j]); }",
       {{40, 72}, {40, 80}}},
      {"RightTransposedOfSeveralSteps", matmul, {{70, 136}, {136, 76}}},
      {"LongDepthThatEndsWithinAVector", matmul, {{9, 1030}, {1030, 12}}},
      {"GradientOfAWindow",
       "function (D[N, X, Y, CI], G[N, X, Y, CO]) -> (K) { K[i, j, ci, co : 3, 3, CI, CO] = "
       "+(D[n, x+i-1, y+j-1, ci] * G[n, x, y, co]); }",
       {{2, 5, 7, 8}, {2, 5, 7, 12}}},
      {"GradientOfAWindowOfManyPositions",
       "function (D[N, X, Y, CI], G[N, X, Y, CO]) -> (K) { K[co, ci, i, j : CO, CI, 3, 3] = "
       "+(D[n, x+i-1, y+j-1, ci] * G[n, x, y, co]); }",
       {{2, 22, 26, 8}, {2, 22, 26, 12}}},
      {"GradientOfAWindowInWholeVectors",
       "function (D[N, X, Y, CI], G[N, X, Y, CO]) -> (K) { K[i, j, ci, co : 3, 3, CI, CO] = "
       "+(D[n, x+i-1, y+j-1, ci] * G[n, x, y, co]); }",
       {{2, 3, 8, 8}, {2, 3, 8, 12}}},
      {"ResultTransposed",
       "function (A[M, L], B[L, N]) -> (C) { C[j, i : N, M] = +(A[i, k] * B[k, j]); }",
       {{24, 40}, {40, 72}}},
      {"Batched",
       "function (A[E, M, L], B[E, L, N]) -> (C) { C[e, i, j : E, M, N] = +(A[e, i, k] * B[e, k, "
       "j]); }",
       {{3, 65, 33}, {3, 33, 10}}},
      {"BatchedHeads",
       "function (Q[S, H, D], K[S, H, D]) -> (C) { C[h, i, j : H, S, S] = +(Q[i, h, d] * K[j, h, "
       "d]); }",
       {{34, 3, 16}, {34, 3, 16}}},
      {"BiasAndResidual",
       "function (A[M, L], B[L, N], C, D) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P + "
       "C + D; O = (S > 0 ? S : 0); }",
       {{66, 24}, {24, 36}, {36}, {66, 36}}},
      {"TwoResidualsOfWholeTiles",
       "function (A[M, L], B[L, N], C, D) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); O = (P + "
       "C) * D; }",
       {{128, 24}, {24, 96}, {128, 96}, {128, 96}}},
      {"TwoOutputs",
       "function (A[M, L], B[L, N]) -> (P, O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); O = P * 2; "
       "}",
       {{66, 24}, {24, 36}}},
      {"SameConvolution", convolution, {{2, 5, 7, 8}, {3, 3, 8, 12}}, {false, true}},
      {"SameConvolutionOfThreeChannels", convolution, {{2, 5, 6, 3}, {3, 3, 3, 8}}, {false, true}},
      {"ConvolutionOfVariables", convolution, {{1, 5, 7, 8}, {3, 3, 8, 12}}},
      {"StridedConvolutionChannelsFirst",
       "function (D[N, C, Y, X], K[O, C, I, J], B) -> (R) { P[n, o, y, x : N, O, (Y+1)/2, (X+1)/2] "
       "= +(D[n, c, 2*y+i-1, 2*x+j-1] * K[o, c, i, j]); R = P + reshape(B, 4, 1, 1); }",
       {{1, 3, 9, 11}, {4, 3, 3, 3}, {4}}},
      {"TransposedConvolution",
       "function (DO[N, OH, OW, CO], K[KH, KW, CI, CO]) -> (DI) { DI[n, 3*y + 2*j, 3*x + 2*i, ci : "
       "N, 3*OH, 3*OW, CI] = +(DO[n, y, x, co] * K[j, i, ci, co]); }",
       {{1, 4, 3, 4}, {3, 2, 4, 4}}},
      {"FlippedConstant",
       "function (D[N, CI], K[I, CI, CO]) -> (R) { R[n, co : N, CO] = +(D[n - i + 1, ci] * K[i, "
       "ci, co]); }",
       {{70, 8}, {3, 8, 16}},
       {false, true}},
      {"DepthThatEndsWithinAVector",
       "function (A[M, K], B[N, K]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]), k < 41; }",
       {{70, 48}, {40, 48}}},
      {"DepthThatEndsWithinAVectorOfHalves",
       "function (A[M, K], B[N, K]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]), k < 133; }",
       {{70, 136}, {40, 136}},
       {},
       DataType::kFloat16},
      {"Gate",
       "function (A[M, L], B[L, N], D[L, N]) -> (O) { G[i, j : M, N] = +(A[i, k] * B[k, j]); "
       "U[i, j : M, N] = +(A[i, k] * D[k, j]); O = (G > 0 ? G : 0) * U; }",
       {{70, 72}, {72, 40}, {72, 40}},
       {false, true, true}},
      {"GateOfVariablesWithBiases",
       "function (A[E, M, L], B[E, N, L], D[E, N, L], V, W) -> (O) { G[e, i, j : E, M, N] = +(A[e, "
       "i, k] * B[e, j, k]); U[e, i, j : E, M, N] = +(A[e, i, k] * D[e, j, k]); F = G + V; O = (U "
       "+ W) * (F < 0 ? -F : F) + V; }",
       {{2, 66, 37}, {2, 29, 37}, {2, 29, 37}, {29}, {66, 29}}},
      {"Halves", transposed, {{70, 72}, {40, 72}}, {}, DataType::kFloat16},
      {"BFloats", transposed, {{70, 136}, {40, 136}}, {}, DataType::kBFloat16},
      {"BFloatsInRows", matmul, {{70, 136}, {136, 40}}, {}, DataType::kBFloat16},
  };
}

TestProgram AsTestProgram(const MatrixProgram& program) {
  TestProgram test = {program.name, program.code, {}};
  for (const auto& dims : program.inputs) test.inputs.push_back({program.type, dims});
  return test;
}

}  // namespace

const std::vector<MatrixProgram>& MatrixPrograms() {
  static const auto* const kPrograms = new std::vector<MatrixProgram>(MakePrograms());
  return *kPrograms;
}

const std::vector<MatrixProgram>& RowStreamPrograms() {
  const std::string matmul =
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
  const std::vector<bool> constants = {false, true};
  static const auto* const kPrograms = new std::vector<MatrixProgram>{
      {"OneRow", matmul, {{1, 72}, {72, 40}}, constants},
      {"FourRows", matmul, {{4, 200}, {200, 64}}, constants},
      {"Primes", matmul, {{3, 37}, {37, 29}}, constants},
      {"LittleDepth", matmul, {{1, 2}, {2, 300}}, constants},
      {"TwoColumns", matmul, {{2, 300}, {300, 2}}, constants},
      {"Transposed",
       "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
       {{1, 520}, {33, 520}},
       constants},
      {"WeightsFirst",
       "function (B[N, L], A[M, L]) -> (C) { C[j, i : N, M] = +(B[j, k] * A[i, k]); }",
       {{26, 48}, {2, 48}},
       {true, false}},
      {"SeveralDepths",
       "function (A[M, K, L], B[L, K, N]) -> (C) { C[i, j : M, N] = +(A[i, k, l] * B[l, k, j]); }",
       {{2, 6, 7}, {7, 6, 18}},
       constants},
      {"RowsInTwoIndices",
       "function (A[E, L, M], B[L, N]) -> (C) { C[e, i, j : E, M, N] = +(A[e, k, i] * B[k, j]); }",
       {{2, 24, 2}, {24, 20}},
       constants},
      {"BiasAndResidual",
       "function (A[M, L], B[L, N], C, D) -> (P, O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P "
       "+ C + D; O = (S > 0 ? S : 0); }",
       {{2, 24}, {24, 36}, {36}, {2, 36}},
       constants},
  };
  return *kPrograms;
}

ir::Program Bind(const MatrixProgram& program) {
  ir::Program bound = BindTestProgram(AsTestProgram(program));
  for (size_t i = 0; i < program.is_constant.size(); ++i) {
    std::get<ir::Input>(bound.values[bound.inputs[i]].op).is_constant = program.is_constant[i];
  }
  return bound;
}

std::vector<HostTensor> WholeNumbers(const MatrixProgram& program) {
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (const TensorShape& shape : AsTestProgram(program).inputs) {
    std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      StoreElement(shape.type, static_cast<double>(random() % 15) - 7, i, bytes.data());
    }
    inputs.emplace_back(shape, bytes);
  }
  return inputs;
}

MatrixCase CaseOf(const MatrixProgram& program) {
  MatrixCase test = {Bind(program), WholeNumbers(program), {}};
  test.expected = ir::EvaluateNaively(test.program, test.inputs).value();
  return test;
}

HardwareSettings MatrixSettings() {
  HardwareSettings settings = TestGpu(256, 132);
  settings.matrix_local_bytes = 227 << 10;
  settings.matrix_rate = 2048;
  return settings;
}

compiler::CompileHooks PlanForMatrixUnit(MatrixFormat format, int64_t slices, std::string* plans,
                                         PackedFactors packed) {
  compiler::CompileHooks hooks;
  hooks.planner = [=](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    const HardwareSettings settings = MatrixSettings();
    std::vector<plan::PlannedKernel> candidates =
        plan::MatrixCandidates(poly::MergeIndices(flat), settings, format, launch.is_constant);
    if (candidates.empty()) return plan::PlanKernel(flat, settings, launch);
    plan::PlannedKernel planned = packed == PackedFactors::kAll ? std::move(candidates.back())
                                                                : std::move(candidates.front());
    auto& matrix = std::get<plan::MatrixPlan>(planned.plan);
    constexpr int64_t kMaxWarpGroups = 4;
    if (slices > 0) matrix.slices = std::min(slices, kMaxWarpGroups / matrix.warp_groups);
    while (matrix.local_bytes() > settings.matrix_local_bytes) matrix.slices /= 2;
    absl::StrAppend(plans, plan::ToString(planned.plan, planned.flat), "\n");
    return planned;
  };
  return hooks;
}

compiler::KernelList CompileForMatrixUnit(const ir::Program& program, MatrixFormat format,
                                          Precision precision,
                                          const std::set<std::string>& left_out) {
  std::string plans;
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  options.precision = precision;
  options.disabled_passes = left_out;
  auto list = compiler::Compile(program, options, PlanForMatrixUnit(format, 0, &plans));
  EXPECT_TRUE(list.ok()) << list.status();
  return *std::move(list);
}

compiler::CompileHooks PlanRowStreams(int64_t compute_units, int* count) {
  compiler::CompileHooks hooks;
  hooks.planner = [=](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    HardwareSettings settings = MatrixSettings();
    settings.batches_launches = true;
    settings.compute_units = compute_units;
    auto stream = plan::RowStreamCandidate(poly::MergeIndices(flat), settings, launch.is_constant,
                                           /*least_bytes=*/0);
    if (!stream.has_value()) return plan::PlanKernel(flat, settings, launch);
    ++*count;
    return *std::move(stream);
  };
  return hooks;
}

}  // namespace tartan
