// SPDX-License-Identifier: Apache-2.0
// Random kernels mean the same before and after Simplify.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "random_kernel.h"
#include "tile/loop/interpret.h"
#include "tile/loop/simplify.h"
#include "tile/loop/verify.h"

namespace tartan::loop {
namespace {

TEST(Simplify, KeepsTheMeaningOfRandomKernels) {
  const uint64_t first_seed = std::random_device()();
  for (uint64_t seed = first_seed; seed < first_seed + 1000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Kernel kernel = MakeRandomKernel(seed, Literals::kAny);
    const Kernel simple = Simplify(kernel);
    ASSERT_EQ(Verify(kernel).message(), "") << ToString(kernel);
    ASSERT_EQ(Verify(simple).message(), "") << ToString(kernel) << ToString(simple);
    auto expected = MakeRandomKernelBuffers();
    auto actual = MakeRandomKernelBuffers();
    ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "") << ToString(kernel);
    ASSERT_EQ(Interpret(simple, absl::MakeSpan(actual)).message(), "")
        << ToString(kernel) << ToString(simple);
    ASSERT_EQ(actual, expected) << ToString(kernel) << ToString(simple);
    ASSERT_EQ(Simplify(simple).body, simple.body) << "not idempotent: " << ToString(simple);
  }
}

// The same kernel is made twice, of nodes of its own.
TEST(HashOf, IsThatOfEqualKernelsAndHardlyOfAnother) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Kernel kernel = MakeRandomKernel(seed, Literals::kAny);
    const Kernel same = MakeRandomKernel(seed, Literals::kAny);
    ASSERT_TRUE(Equal(kernel, same));
    EXPECT_EQ(HashOf(*kernel.body), HashOf(*same.body)) << ToString(kernel);
    hashes.insert(HashOf(*kernel.body));
  }
  EXPECT_GT(hashes.size(), 95);
}

}  // namespace
}  // namespace tartan::loop
