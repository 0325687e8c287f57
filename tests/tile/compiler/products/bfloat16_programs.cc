// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/products/bfloat16_programs.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "tests/tile/compiler/programs.h"
#include "tile/loop/loop_ir.h"
#include "tile/plan/select/select_plan.h"

namespace tartan {
namespace {

bool IsDot(const poly::ExprPtr& body) {
  const auto* apply = std::get_if<poly::Apply>(&body->node);
  return apply != nullptr && apply->op == ScalarOp::kDotBFloat16;
}

std::vector<MatrixProgram> MakeWordPrograms() {
  const std::string matmul = kMatMul;
  const std::string convolution = kPaddedConvolution;
  return {
      {"Odd", matmul, {{43, 67}, {67, 41}}},
      {"OddConstant", matmul, {{43, 67}, {67, 41}}, {false, true}},
      {"Whole", matmul, {{64, 64}, {64, 64}}, {false, true}},
      {"LeftConstant", matmul, {{67, 65}, {65, 33}}, {true, false}},
      {"Transposed",
       "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
       {{33, 71}, {45, 71}}},
      {"BothTransposed",
       "function (A[L, M], B[N, L]) -> (C) { C[i, j : M, N] = +(A[k, i] * B[j, k]); }",
       {{63, 35}, {37, 63}}},
      {"OneRow", matmul, {{1, 255}, {255, 511}}, {false, true}},
      {"OneRowTransposed",
       "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
       {{1, 514}, {257, 514}},
       {false, true}},
      {"FewRows", matmul, {{5, 130}, {130, 301}}, {false, true}},
      {"Batch",
       "function (A[P, M, L], B[P, L, N]) -> (C) "
       "{ C[p, i, j : P, M, N] = +(A[p, i, k] * B[p, k, j]); }",
       {{3, 34, 35}, {3, 35, 36}}},
      {"ScaledWithEpilogue",
       "function (A[M, L], B[L, N], S[N]) -> (C) { X = A * 2 + 1; "
       "P[i, j : M, N] = +(X[i, k] * B[k, j]); C = (P + S > 0 ? P + S : 0) * 3; }",
       {{43, 67}, {67, 41}, {41}}},
      {"Convolution", convolution, {{1, 9, 7, 11}, {3, 3, 11, 21}}, {false, true}},
      {"StridedConvolution",
       "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, 8, 6, CO] = "
       "+(D[n, 2*x+i, 2*y+j, ci] * K[i, j, ci, co]); }",
       {{1, 17, 13, 9}, {3, 3, 9, 24}},
       {false, true}},
      {"PointwiseConvolution", convolution, {{2, 8, 9, 33}, {1, 1, 33, 40}}, {false, true}},
  };
}

}  // namespace

const std::vector<MatrixProgram>& BFloat16Programs() {
  static const auto& programs = *new std::vector<MatrixProgram>(MakeWordPrograms());
  return programs;
}

HardwareSettings BFloat16Settings(int64_t lanes, bool has_instruction) {
  HardwareSettings settings;
  settings.vector_width = lanes;
  settings.register_bytes = (lanes == 16 ? 32 : 16) * lanes * 4;
  settings.compute_units = 2;
  settings.multiplies_bfloat16 = has_instruction;
  settings.gflops = static_cast<double>(2 * 2 * 3 * lanes);
  settings.clock_mhz = 3000;
  settings.launch_us = 2;
  return settings;
}

compiler::CompileOptions OptionsForBFloat16(const HardwareSettings& settings) {
  compiler::CompileOptions options;
  options.settings = settings;
  options.precision = Precision::kBFloat16;
  return options;
}

compiler::CompileHooks PlanForBFloat16(const HardwareSettings& settings, int candidate) {
  constexpr double kAnAge = 1e9;
  compiler::CompileHooks hooks;
  hooks.planner = [=](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    plan::PlannedKernel plan = plan::PlanCandidates(flat, settings, launch, candidate + 1).back();
    const bool is_sum_of_floats =
        flat.is_reduction() && flat.accumulator_type == DataType::kFloat32;
    if (is_sum_of_floats && !IsDot(flat.body)) plan.predicted_us = kAnAge;
    return plan;
  };
  return hooks;
}

int CountDots(const compiler::KernelList& list) {
  return static_cast<int>(
      std::count_if(list.kernels.begin(), list.kernels.end(), [](const loop::Kernel& kernel) {
        return absl::StrContains(loop::ToString(kernel), "dotbf16(");
      }));
}

}  // namespace tartan
