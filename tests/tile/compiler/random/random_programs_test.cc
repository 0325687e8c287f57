// SPDX-License-Identifier: Apache-2.0
// Random programs and their gradients, compiled and interpreted in both tiers, against the naive
// evaluator. TARTAN_LONG_TESTS sets how many (default 40), TARTAN_TEST_SEED the first seed.
#include "tests/tile/compiler/random/random_programs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tile/compiler/interpret_list.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::random_programs_test {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

CompileOptions ForCpu() {
  CompileOptions options;
  options.settings.vector_width = 8;
  options.settings.compute_units = 2;
  return options;
}

CompileOptions ForGpu() {
  CompileOptions options;
  options.settings.threads = 64;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  return options;
}

TEST(RandomPrograms, EqualTheNaiveEvaluatorInBothTiers) {
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 40);
  const int64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  int64_t with_gradients = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram plain = MakeRandomProgram(static_cast<uint64_t>(seed));
    const RandomProgram test = WithGradients(plain);
    SCOPED_TRACE(testing::Message() << "TARTAN_TEST_SEED=" << seed << "\n" << plain.program.code);
    with_gradients += test.is_inexact.size() > plain.is_inexact.size() ? 1 : 0;
    const ir::Program program = BindTestProgram(test.program);
    const auto expected = ir::EvaluateNaively(program, test.inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (const Tier tier : {Tier::kExact, Tier::kReady}) {
      CompileOptions options = seed % 3 == 0 ? ForGpu() : ForCpu();
      options.tier = tier;
      const auto list = Compile(program, options);
      ASSERT_TRUE(list.ok()) << list.status();
      const auto actual = InterpretList(*list, test.inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      EXPECT_EQ(DifferenceOf(test, *actual, *expected), "")
          << (tier == Tier::kExact ? "exact" : "ready");
    }
    if (testing::Test::HasFailure()) return;
  }
  // Where few programs are made, all of them may lack gradients by chance.
  if (count >= 40) {
    EXPECT_GE(3 * with_gradients, count) << "of " << count << " programs";
  }
}

}  // namespace
}  // namespace tartan::compiler::random_programs_test
