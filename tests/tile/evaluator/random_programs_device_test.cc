// SPDX-License-Identifier: Apache-2.0
// Runs random programs and their gradients in both tiers on the test device, against the naive
// evaluator. TARTAN_LONG_TESTS sets the number (default 2), TARTAN_TEST_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tile/compiler/random/random_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator::random_programs_device_test {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

void ExpectNaive(const RandomProgram& test, const std::vector<HostTensor>& expected,
                 compiler::Tier tier) {
  compiler::CompileOptions options;
  options.tier = tier;
  const auto compiled = TestProgramCache().Get(ToProto(test.program), options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto loaded = LoadedProgram::Load(*compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto actual = (*loaded)->Run(test.inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(DifferenceOf(test, *actual, expected), "");
}

void ExpectNaiveInBothTiers(int64_t seed) {
  const RandomProgram plain = MakeRandomProgram(static_cast<uint64_t>(seed));
  const RandomProgram test = WithGradients(plain);
  SCOPED_TRACE(testing::Message() << "TARTAN_TEST_SEED=" << seed << "\n" << plain.program.code);
  const auto expected = ir::EvaluateNaively(BindTestProgram(test.program), test.inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ExpectNaive(test, *expected, compiler::Tier::kExact);
  ExpectNaive(test, *expected, compiler::Tier::kReady);
}

TEST(RandomProgramsOnTheDevice, EqualTheNaiveEvaluatorInBothTiers) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 2);
  const int64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  for (int64_t seed = first; seed < first + count; ++seed) {
    ExpectNaiveInBothTiers(seed);
    if (testing::Test::HasFailure()) return;
  }
}

// On an H200 with driver 580. 3162: pow(x, x) of int8. 7329, 15288: the minimum and the maximum of
// three negated int32.
TEST(RandomProgramsOnTheDevice, EqualTheNaiveEvaluatorForSeedsThatFailedOnce) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  for (const int64_t seed : {3162, 7329, 15288}) ExpectNaiveInBothTiers(seed);
}

}  // namespace
}  // namespace tartan::evaluator::random_programs_device_test
