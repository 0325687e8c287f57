// SPDX-License-Identifier: Apache-2.0
// Compiles and interprets programs on 16-bit floats and compares with the naive evaluator.
// TARTAN_LONG_TESTS sets the number of random chains (default 100), TARTAN_TEST_SEED the first
// seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tile/compiler/half_programs.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::halves_test {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

CompileOptions ForGpu() {
  CompileOptions options;
  options.settings.threads = 64;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  return options;
}

CompileOptions WithoutFusion() {
  CompileOptions options;
  options.disabled_passes = {"fuse"};
  return options;
}

void Check(const TestProgram& test, const std::vector<HostTensor>& inputs,
           const CompileOptions& options, double tolerance) {
  const ir::Program program = BindTestProgram(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto list = Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t o = 0; o < actual->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], tolerance), "")
        << "output " << o << " of\n"
        << test.code;
  }
}

class HalvesTest : public testing::TestWithParam<TestProgram> {
 protected:
  // The tolerance is one unit in the last place: results are rounded once, from float32.
  void CheckOne(const CompileOptions& options) {
    const bool is_half = GetParam().inputs[0].type == DataType::kFloat16;
    Check(GetParam(), RandomInputs(GetParam(), 1), options, is_half ? 0x1p-10 : 0x1p-7);
  }
};

TEST_P(HalvesTest, EqualsTheNaiveEvaluatorOnACpuPlan) { CheckOne(CompileOptions()); }

TEST_P(HalvesTest, EqualsTheNaiveEvaluatorOnAGpuPlan) { CheckOne(ForGpu()); }

TEST_P(HalvesTest, EqualsTheNaiveEvaluatorWithoutFusion) { CheckOne(WithoutFusion()); }

INSTANTIATE_TEST_SUITE_P(All, HalvesTest, testing::ValuesIn(HalfPrograms()),
                         [](const auto& info) { return info.param.name; });

TEST(HalvesInKernels, AreRoundedWithoutAKernelOfTheirOwn) {
  const TestProgram program = {
      "Rounded",
      "function (A[M, L], B[L, N]) -> (O) { X = as_bfloat(exp(A)); P[i, j : M, N] = +(X[i, k] * "
      "B[k, j]); R = as_bfloat(P); O = as_float(R, 32) + 1; }",
      {{DataType::kFloat32, {4, 6}}, {DataType::kFloat32, {6, 2}}}};
  const auto list = Compile(BindTestProgram(program), {});
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 1u);
}

// Returns the compiled program's outputs for one input, one element each.
std::vector<double> ResultsOf(const std::string& code, Precision precision, float input) {
  const TestProgram test = {"Chain", code, {{DataType::kFloat32, {1}}}};
  CompileOptions options;
  options.precision = precision;
  const auto list = Compile(BindTestProgram(test), options);
  EXPECT_TRUE(list.ok()) << list.status();
  const auto results =
      InterpretList(*list, {HostTensor::FromVector(test.inputs[0], std::vector<float>{input})});
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<double> elements;
  for (const HostTensor& result : *results) elements.push_back(result.GetDouble(0));
  return elements;
}

TEST(HalvesInKernels, KeepTheirPrecisionUntilTheyAreStoredIfTheUserAllowsBFloat16) {
  constexpr float kSmall = 0x1p-12f;  // lost beside 1 in 16 bits
  const std::string inside =
      "function (X[N]) -> (O) { R = as_bfloat(X + 1); O = as_float(R, 32) - 1; }";
  const std::string stored =
      "function (X[N]) -> (R, O) { R = as_bfloat(X + 1); O = as_float(R, 32) - 1; }";
  using testing::ElementsAre;
  EXPECT_THAT(ResultsOf(inside, Precision::kFloat32, kSmall), ElementsAre(0));
  EXPECT_THAT(ResultsOf(inside, Precision::kTf32, kSmall), ElementsAre(0));
  EXPECT_THAT(ResultsOf(inside, Precision::kFloat16, kSmall), ElementsAre(0));
  EXPECT_THAT(ResultsOf(inside, Precision::kBFloat16, kSmall), ElementsAre(kSmall));
  EXPECT_THAT(ResultsOf(stored, Precision::kBFloat16, kSmall), ElementsAre(1, 0));
  const std::string half =
      "function (X[N]) -> (O) { R = as_float(X + 1, 16); O = as_float(R, 32) - 1; }";
  EXPECT_THAT(ResultsOf(half, Precision::kFloat16, kSmall), ElementsAre(0));
  EXPECT_THAT(ResultsOf(half, Precision::kBFloat16, kSmall), ElementsAre(0));
}

TEST(RandomHalves, EqualTheNaiveEvaluatorToTheLastBit) {
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 100);
  const int64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "TARTAN_TEST_SEED=" << seed);
    const HalfChain chain = RandomHalfChain(static_cast<uint64_t>(seed));
    const CompileOptions options[] = {CompileOptions(), ForGpu(), WithoutFusion()};
    Check(chain.program, chain.inputs, options[seed % 3], 0);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tartan::compiler::halves_test
