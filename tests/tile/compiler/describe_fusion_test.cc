// SPDX-License-Identifier: Apache-2.0
// Tests the reasons for separate launches: which rule refuses two operations, and why.
#include "tile/compiler/describe/describe_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/passes/passes.h"

namespace tartan::compiler::describe_fusion_test {
namespace {

using graph::FusionDecision;
using graph::FusionRule;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TensorShape F32(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

CompileOptions Cpu() {
  CompileOptions options;
  options.settings.compute_units = 8;
  return options;
}

CompileOptions Gpu() {
  CompileOptions options;
  options.settings = LargeGpuSettings();
  return options;
}

struct Refused {
  std::string name;
  std::string code;
  std::vector<TensorShape> inputs;
  std::string producer;
  std::string consumer;
  FusionRule rule;
  std::string reason;
  CompileOptions options = Cpu();
};

std::ostream& operator<<(std::ostream& out, const Refused& refused) { return out << refused.name; }

KernelList ListOf(const std::string& code, const std::vector<TensorShape>& inputs,
                  const CompileOptions& options) {
  CompileHooks hooks;
  hooks.describes_launches = true;
  const auto list = Compile(BindTestProgram({"test", code, inputs}), options, hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *list : KernelList();
}

class RefusedFusions : public testing::TestWithParam<Refused> {};

TEST_P(RefusedFusions, HaveARuleAndAReason) {
  const Refused& expected = GetParam();
  const std::vector<LaunchFusion> launches =
      FusionOf(ListOf(expected.code, expected.inputs, expected.options));
  std::vector<std::string> reasons;
  for (const LaunchFusion& launch : launches) {
    for (const RefusedFusion& refused : launch.refused) {
      const FusionDecision& decision = refused.decision;
      if (decision.producer == expected.producer && decision.consumer == expected.consumer &&
          decision.rule == expected.rule) {
        reasons.push_back(decision.reason);
      }
    }
  }
  EXPECT_THAT(reasons, Contains(HasSubstr(expected.reason))) << FusionText(launches);
}

const char kTwoMatmuls[] =
    "function (A[M, K], B[K, N], C[N, L]) -> (Q) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
    " R = relu(P); Q[i, l : M, L] = +(R[i, j] * C[j, l]); }";
const std::vector<TensorShape> kTwoMatmulShapes = {F32({64, 48}), F32({48, 32}), F32({32, 80})};

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedFusions,
    testing::Values(
        Refused{"ReductionAfterAReduction", kTwoMatmuls, kTwoMatmulShapes, "R", "Q",
                FusionRule::kEpilogue, "the consumer is a reduction"},
        Refused{"MatmulsOnACpu", kTwoMatmuls, kTwoMatmulShapes, "R", "Q", FusionRule::kRowFusion,
                "this one is a matmul"},
        Refused{"MovedElements",
                "function (A[M, K], B[K, N]) -> (T, S) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
                " S = exp(P); T[j, i : N, M] = =(P[i, j]); }",
                {F32({64, 48}), F32({48, 32})},
                "P",
                "T",
                FusionRule::kEpilogue,
                "the consumer moves elements"},
        Refused{"ElementsOfAnotherCount",
                "function (A[M, K], X[M, N]) -> (Q) { S[i, 0 : M, 1] = +(A[i, k]); Q = X / S; }",
                {F32({3, 48000}), F32({3, 32000})},
                "S",
                "Q",
                FusionRule::kEpilogue,
                "another number of elements"},
        Refused{"AValueComputedLater",
                "function (A[M, K], B[K, N], C[K, N]) -> (S) { P[i, j : M, N] = +(A[i, k] * B[k, "
                "j]); Q[i, j : M, N] = +(A[i, k] * C[k, j]); S = P - Q; }",
                {F32({64, 48}), F32({48, 32}), F32({48, 32})},
                "P",
                "S",
                FusionRule::kEpilogue,
                "computed later"},
        Refused{"AGather",
                "function (A[N, M], I[K]) -> (G) { E = exp(A); G = gather(E, I); }",
                {F32({64, 48}), {DataType::kInt32, {16}}},
                "E",
                "G",
                FusionRule::kInline,
                "a gather reads the producer"},
        Refused{"SeveralKernels",
                "function (A[M, K], B[K, N], C[K, N]) -> (P, Q) { E = exp(A) + tanh(A);"
                " P[i, j : M, N] = +(E[i, k] * B[k, j]); Q[i, j : M, N] = +(E[i, k] * C[k, j]); }",
                {F32({64, 48}), F32({48, 32}), F32({48, 32})},
                "E",
                "P",
                FusionRule::kInline,
                "several kernels read the producer"},
        Refused{"FewRows",
                "function (X[M, N]) -> (Q) { S[i, 0 : M, 1] = +(X[i, j]); Q = X / S; }",
                {F32({3, 48000})},
                "S",
                "Q",
                FusionRule::kRowFusion,
                "3 rows are too few for 8 cores"},
        Refused{"LongRows",
                "function (X[M, N]) -> (Q) { S[i, 0 : M, 1] = +(X[i, j]); Q = X / S; }",
                {F32({64, 480000})},
                "S",
                "Q",
                FusionRule::kRowFusion,
                "a row takes"},
        Refused{"OtherRows",
                "function (X[M, N]) -> (Q) { S[i, 0 : M, 1] = +(X[i, j]); T = exp(S);"
                " Q[0, 0 : 1, 1] = +(T[i, 0]); }",
                {F32({64, 4800})},
                "T",
                "Q",
                FusionRule::kRowFusion,
                "reads other rows"},
        Refused{"MatmulsOnAGpu",
                kTwoMatmuls,
                {F32({2048, 1024}), F32({1024, 1024}), F32({1024, 2048})},
                "R",
                "Q",
                FusionRule::kAttention,
                "",
                Gpu()}),
    [](const auto& info) { return info.param.name; });

TEST(FusionText, NamesWhatALaunchFuses) {
  const std::string text = FusionText(FusionOf(
      ListOf("function (A[M, K], B[K, N], D[N]) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
             " S = P + D; R = relu(S); }",
             {F32({64, 48}), F32({48, 32}), F32({32})}, Cpu())));
  EXPECT_THAT(text, HasSubstr("launch 1: R float32[64, 32]"));
  EXPECT_THAT(text, HasSubstr("  + epilogue: P, S, R"));
  EXPECT_THAT(text, Not(HasSubstr("  - ")));
}

// Returns the decisions about algorithms of a convolution with 3x3 windows.
std::vector<FusionDecision> AlgorithmsOf(int64_t size, int64_t channels) {
  const KernelList list = ListOf(
      kPaddedConvolution, {F32({1, size, size, channels}), F32({3, 3, channels, channels})}, Cpu());
  std::vector<FusionDecision> decisions;
  for (const LaunchFusion& launch : FusionOf(list)) {
    decisions.insert(decisions.end(), launch.algorithm.begin(), launch.algorithm.end());
  }
  return decisions;
}

TEST(FusionOf, SaysWhichConvolutionsUseWinograd) {
  for (const bool is_large : {false, true}) {
    const auto decisions = is_large ? AlgorithmsOf(56, 128) : AlgorithmsOf(8, 4);
    ASSERT_EQ(decisions.size(), 1u) << is_large;
    EXPECT_EQ(decisions[0].rule, FusionRule::kWinograd);
    EXPECT_EQ(decisions[0].producer, "O");
    EXPECT_EQ(decisions[0].is_accepted, is_large) << decisions[0].reason;
    EXPECT_THAT(decisions[0].reason, HasSubstr(is_large ? "tiles of" : "does not repay"));
  }
}

TEST(FusionRules, AreInOrderAndNameAPassThatTurnsThemOff) {
  for (size_t r = 0; r < graph::FusionRules().size(); ++r) {
    const graph::FusionRuleInfo& rule = graph::FusionRules()[r];
    EXPECT_EQ(static_cast<size_t>(rule.rule), r);
    EXPECT_TRUE(CheckOptional({std::string(rule.pass)}).ok()) << rule.pass;
  }
}

TEST(FusionText, NamesTheKernelsOfARowFusion) {
  const std::string text = FusionText(
      FusionOf(ListOf("function (X[M, N]) -> (Q) { S[i, 0 : M, 1] = +(X[i, j]); Q = X / S; }",
                      {F32({64, 480})}, Cpu())));
  EXPECT_THAT(text, HasSubstr("  + row fusion: S, Q"));
  EXPECT_THAT(text, Not(HasSubstr("  - ")));
}

// Every pair of launches of which one reads a result of the other has a reason.
TEST(FusionOf, ExplainsEveryEdge) {
  for (const TestProgram& test : TestPrograms()) {
    for (const CompileOptions& options : {Cpu(), Gpu()}) {
      const KernelList list = ListOf(test.code, test.inputs, options);
      const std::vector<LaunchFusion> launches = FusionOf(list);
      size_t number = 0;
      std::vector<int> writer(list.buffers.size(), -1);
      for (const Step& step : list.steps) {
        if (!std::holds_alternative<LaunchStep>(step)) continue;
        for (const int buffer : BuffersOf(list, step).read) {
          const int producer = writer[buffer];
          if (producer < 0 || producer == static_cast<int>(number)) continue;
          const auto& refused = launches[number].refused;
          EXPECT_TRUE(std::any_of(refused.begin(), refused.end(),
                                  [&](const RefusedFusion& r) { return r.producer == producer; }))
              << test.name << ", launch " << number + 1 << " reads " << list.buffers[buffer].name
              << "\n"
              << FusionText(launches);
        }
        for (const int buffer : BuffersOf(list, step).written) {
          writer[buffer] = static_cast<int>(number);
        }
        ++number;
      }
    }
  }
}

// Nobody reads the decisions of an ordinary compilation, so it collects none.
TEST(FusionOf, NeedsHooks) {
  const auto list = Compile(BindTestProgram({"test", kTwoMatmuls, kTwoMatmulShapes}), Cpu());
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_THAT(list->decisions, IsEmpty());
}

}  // namespace
}  // namespace tartan::compiler::describe_fusion_test
