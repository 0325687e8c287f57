// SPDX-License-Identifier: Apache-2.0
// Tests arithmetic, comparisons and logic of bools in vectorized code on the test device.
#include "absl/strings/str_cat.h"
#include "tests/tile/evaluator/expect_naive.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {
namespace {

class BoolsOnTheDevice : public testing::TestWithParam<compiler::Tier> {
 protected:
  static void ExpectNaive(const TestProgram& program) {
    ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
    compiler::CompileOptions options;
    options.tier = GetParam();
    const auto compiled = TestProgramCache().Get(ToProto(program), options);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ExpectNaiveResults(*compiled, program, RandomInputs(program, 3), /*tolerance=*/0);
  }
};

TEST_P(BoolsOnTheDevice, HaveEveryOperator) {
  const TensorShape shape{DataType::kBool, {67}};
  ExpectNaive({"Bools",
               R"(function (A, B) -> (O0, O1, O2, O3, O4, O5, O6, O7, O8, O9, P0, P1, P2, P3, P4,
                                       P5, P6, P7, P8, P9, Q0) {
                    O0 = A & B; O1 = A | B; O2 = A ^ B; O3 = A + B; O4 = A * B; O5 = A - B;
                    O6 = A / B; O7 = A % B; O8 = ~A; O9 = -A; P0 = abs(A); P1 = max(A, B);
                    P2 = min(A, B); P3 = pow(A, B); P4 = A < B; P5 = A > B; P6 = A <= B;
                    P7 = A >= B; P8 = A == B; P9 = A != B; Q0 = isnan(A);
                  })",
               {shape, shape}});
}

TEST_P(BoolsOnTheDevice, MaskWhatWasCompared) {
  ExpectNaive({"Masks",
               R"(function (A[N], I[N], F[N]) -> (O, P, Q, R, S) {
                    O = (A > 0) > (A > 1);
                    P = (A > -1) & (A < 1) ? A : 0.0;
                    Q = (I < 3) + (A > 0.5) * F;
                    R = (I == 2) ^ F ^ (F < (A < 0));
                    S[] = +(R[n]);
                  })",
               {{DataType::kFloat32, {67}}, {DataType::kInt8, {67}}, {DataType::kBool, {67}}}});
}

// Each value has two uses in the next statement.
TEST_P(BoolsOnTheDevice, ComputeLongChains) {
  std::string body = "X0 = A > 0; Y0 = A < 1; ";
  for (int i = 1; i <= 24; ++i) {
    absl::StrAppend(&body, "X", i, " = X", i - 1, " ^ Y", i - 1, "; Y", i, " = X", i - 1, " >= Y",
                    i - 1, "; ");
  }
  ExpectNaive({"Chain",
               absl::StrCat("function (A) -> (X24, Y24) { ", body, "}"),
               {{DataType::kFloat32, {67}}}});
}

INSTANTIATE_TEST_SUITE_P(BothTiers, BoolsOnTheDevice,
                         testing::Values(compiler::Tier::kExact, compiler::Tier::kReady),
                         [](const auto& info) {
                           return info.param == compiler::Tier::kExact ? "Exact" : "Ready";
                         });

}  // namespace
}  // namespace tartan::evaluator
