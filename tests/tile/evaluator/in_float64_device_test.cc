// SPDX-License-Identifier: Apache-2.0
// Tests programs computed in float64 on the device, against the naive evaluator in float64.
#include <gtest/gtest.h>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

class InFloat64Test : public testing::TestWithParam<TestProgram> {};

TEST_P(InFloat64Test, EqualsTheNaiveEvaluatorInFloat64) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const ir::Program program = BindTestProgram(GetParam());
  const auto wide = ir::InFloat64(program);
  ASSERT_TRUE(wide.ok()) << wide.status();
  std::vector<HostTensor> inputs;
  for (const HostTensor& input : RandomInputs(GetParam(), 11)) {
    inputs.push_back(ir::InFloat64(input));
  }
  const auto expected = ir::EvaluateNaively(*wide, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  compiler::CompileOptions options;
  options.in_float64 = true;
  const auto compiled = cache.Get(ToProto(GetParam()), options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto loaded = LoadedProgram::Load(*compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto actual = (*loaded)->Run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-13), "") << "output " << o;
  }
}

std::vector<TestProgram> ProgramsOfFloats() {
  std::vector<TestProgram> programs;
  for (const TestProgram& program : TestPrograms()) {
    if (IsFloat(program.inputs[0].type)) programs.push_back(program);
  }
  return programs;
}

INSTANTIATE_TEST_SUITE_P(All, InFloat64Test, testing::ValuesIn(ProgramsOfFloats()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::evaluator
