// SPDX-License-Identifier: Apache-2.0
// Compiles and interprets random programs and their gradients in both tiers, and compares with the
// naive evaluator. TARTAN_LONG_TESTS sets the number (default 40), TARTAN_TEST_SEED the first seed.
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

CompileOptions ForSmallGpu() {
  CompileOptions options;
  options.settings.threads = 64;
  options.settings.vector_width = 1;
  options.settings.has_local_memory = true;
  return options;
}

// An H200: unlike the small GPU, it has fused row kernels, launch batches and packed int8 matmuls.
CompileOptions ForLargeGpu() {
  CompileOptions options = ForSmallGpu();
  options.settings.threads = 256;
  options.settings.local_memory_bytes = 48 << 10;
  options.settings.l1_bytes = 16 << 10;
  options.settings.l2_bytes = 132 * (32 << 10);
  options.settings.cache_line_bytes = 128;
  options.settings.register_bytes = 64 << 10;
  options.settings.compute_units = 132;
  options.settings.max_work_group_size = 1024;
  options.settings.packed_dot_width = 4;
  options.settings.packs_unsigned = false;
  options.settings.has_fma = true;
  options.settings.batches_launches = true;
  options.settings.clock_mhz = 1980;
  options.settings.gflops = 60000;
  options.settings.gbps = 4000;
  options.settings.launch_us = 3;
  return options;
}

// Compares both tiers for a CPU or a small GPU, and for a large GPU, with the naive evaluator.
// Returns whether the program has gradients.
bool CompareWithNaiveEvaluator(int64_t seed) {
  const RandomProgram plain = MakeRandomProgram(static_cast<uint64_t>(seed));
  const RandomProgram test = WithGradients(plain);
  SCOPED_TRACE(testing::Message() << "TARTAN_TEST_SEED=" << seed << "\n" << plain.program.code);
  const bool has_gradients = test.is_inexact.size() > plain.is_inexact.size();
  const ir::Program program = BindTestProgram(test.program);
  const auto expected = ir::EvaluateNaively(program, test.inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (!expected.ok()) return has_gradients;
  for (CompileOptions options : {seed % 3 == 0 ? ForSmallGpu() : ForCpu(), ForLargeGpu()}) {
    for (const Tier tier : {Tier::kExact, Tier::kReady}) {
      options.tier = tier;
      const auto list = Compile(program, options);
      const auto actual = list.ok() ? InterpretList(*list, test.inputs)
                                    : absl::StatusOr<std::vector<HostTensor>>(list.status());
      const std::string difference = actual.ok() ? DifferenceOf(test, *actual, *expected)
                                                 : std::string(actual.status().message());
      EXPECT_EQ(difference, "") << (tier == Tier::kExact ? "exact" : "ready")
                                << " kernels for work-groups of " << options.settings.threads;
    }
  }
  return has_gradients;
}

TEST(RandomPrograms, EqualTheNaiveEvaluatorInBothTiers) {
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 40);
  const int64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  int64_t with_gradients = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    with_gradients += CompareWithNaiveEvaluator(seed) ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  // A small sample may lack programs with gradients by chance.
  if (count >= 40) {
    EXPECT_GE(3 * with_gradients, count) << "of " << count << " programs";
  }
}

// 3743: the lanes of a reduced index that no read depends on. 7890: a gather of other elements of a
// value that the kernel writes. 9237 and 23092: results of which only the shape is read.
TEST(RandomPrograms, EqualTheNaiveEvaluatorForSeedsThatFailedOnce) {
  for (const int64_t seed : {3743, 7890, 9237, 23092}) CompareWithNaiveEvaluator(seed);
}

}  // namespace
}  // namespace tartan::compiler::random_programs_test
