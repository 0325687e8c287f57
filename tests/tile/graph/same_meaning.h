// SPDX-License-Identifier: Apache-2.0
// Checks that a graph pass keeps a program's results.
#pragma once

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {

// Expects that `program`, the result of a pass on the test program, is valid and has the same
// outputs bit by bit.
inline void ExpectSameMeaning(const ir::Program& program, const TestProgram& test) {
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  const std::vector<HostTensor> inputs = RandomInputs(test, 1);
  const auto expected = ir::EvaluateNaively(BindTestProgram(test), inputs);
  const auto actual = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 0), "") << "output " << o;
  }
}

}  // namespace tartan::graph
