// SPDX-License-Identifier: Apache-2.0
// Tests programs on 16-bit floats on the test device. TARTAN_LONG_TESTS sets the number of random
// chains (default 2), TARTAN_TEST_SEED the first seed.
#include <cstdlib>

#include "tests/tile/compiler/half_programs.h"
#include "tests/tile/evaluator/expect_naive.h"

namespace tartan::evaluator {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// All cases share one program, because the driver's compilation is slow.
TEST(HalvesOnTheDevice, AreScatteredAndSortedWhereverTheyComeFrom) {
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
    const TestProgram program = {
        "Halves",
        R"(function (A, U, I, P) -> (S, T, E, F, G, R, C) {
             S = scatter_nd(relu(A), I, U);
             T = scatter_nd(A, I, exp(U), 1);
             D = scatter_elements(A, P, tanh(U), 1);
             E = D * 2;
             F = sort(exp(A), 1);
             G = sort(exp(A), 0, 1);
             R = reshape(sort(-A, 0), 100, 3);
             C = cumsum(exp(A), 1);
           })",
        {{type, {60, 5}}, {type, {2, 5}}, {DataType::kInt32, {2, 1}}, {DataType::kInt32, {2, 5}}},
        0,
        2};
    ExpectNaiveResults(program, 1, type == DataType::kFloat16 ? 0x1p-10 : 0x1p-7, /*runs=*/2);
  }
}

TEST(HalvesOnTheDevice, RandomChainsEqualTheNaiveEvaluatorToTheLastBit) {
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 2);
  const int64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "TARTAN_TEST_SEED=" << seed);
    const HalfChain chain = RandomHalfChain(static_cast<uint64_t>(seed));
    SCOPED_TRACE(chain.program.code);
    ExpectNaiveResults(chain.program, chain.inputs, /*tolerance=*/0, /*runs=*/2);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tartan::evaluator
