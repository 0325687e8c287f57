// SPDX-License-Identifier: Apache-2.0
// Runs every file of examples/tile on the device and compares with the naive evaluator.
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

TEST(TileExamples, RunOnTheDevice) {
  int run = 0;
  for (const std::string& path : lang::TileFiles("examples/tile")) {
    SCOPED_TRACE(path);
    TestProgram program;
    program.name = path;
    program.code = lang::ReadFile(path);
    program.inputs = lang::HeaderShapes(program.code);
    const std::vector<HostTensor> inputs = RandomInputs(program, 11);
    const auto expected = ir::EvaluateNaively(BindTestProgram(program), inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto compiled = TestProgramCache().Get(ToProto(program));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto loaded = LoadedProgram::Load(*compiled, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto actual = (*loaded)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 2e-5), "") << "output " << o;
    }
    ++run;
  }
  EXPECT_GE(run, 27);
}

}  // namespace
}  // namespace tartan::evaluator
