// SPDX-License-Identifier: Apache-2.0
// Compares a program on the test device with the naive evaluator.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {

// Runs a compiled program `runs` times. Expects outputs equal to the naive evaluator's, within
// `tolerance` as FirstDifference defines it.
inline void ExpectNaiveResults(const std::shared_ptr<const CompiledProgram>& compiled,
                               const TestProgram& program, const std::vector<HostTensor>& inputs,
                               double tolerance, int runs = 1) {
  const auto expected = ir::EvaluateNaively(BindTestProgram(program), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto loaded = LoadedProgram::Load(compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (int run = 0; run < runs; ++run) {
    const auto actual = (*loaded)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], tolerance), "") << "output " << o;
    }
  }
}

// Compiles a program for the test device and compares it in the same way.
inline void ExpectNaiveResults(const TestProgram& program, const std::vector<HostTensor>& inputs,
                               double tolerance, int runs = 1) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto compiled = TestProgramCache().Get(ToProto(program));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ExpectNaiveResults(*compiled, program, inputs, tolerance, runs);
}

// Compares the program in the same way for random inputs.
inline void ExpectNaiveResults(const TestProgram& program, uint64_t seed, double tolerance,
                               int runs = 1) {
  ExpectNaiveResults(program, RandomInputs(program, seed), tolerance, runs);
}

}  // namespace tartan::evaluator
