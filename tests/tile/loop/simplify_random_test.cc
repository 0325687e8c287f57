// SPDX-License-Identifier: Apache-2.0
// Random kernels mean the same before and after Simplify.
#include <gtest/gtest.h>

#include <random>

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

}  // namespace
}  // namespace tartan::loop
