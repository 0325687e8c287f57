// SPDX-License-Identifier: Apache-2.0
// Tests bounds checks of memory accesses (compiler/check_bounds.h) on the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/expect_naive.h"
#include "tile/compiler/check_bounds.h"
#include "tile/loop/build.h"

namespace tartan::evaluator {
namespace {

using compiler::CompileOptions;
using testing::HasSubstr;

// Returns a kernel O = I[place] for 8 elements, with vectors of `lanes` elements.
compiler::KernelList CopyFrom(const loop::ExprPtr& place, int lanes = 1) {
  compiler::KernelList list;
  const TensorShape shape{DataType::kFloat32, {8}};
  list.buffers = {{"I", compiler::BufferKind::kInput, shape, 32},
                  {"O", compiler::BufferKind::kOutput, shape, 32}};
  loop::Kernel kernel;
  kernel.name = "copy";
  kernel.parameters = {{"o", DataType::kFloat32, true}, {"i", DataType::kFloat32}};
  kernel.global_size[0] = 8 / lanes;
  const loop::ExprPtr item = loop::Mul(loop::Work(loop::WorkId::kGlobal, 0), loop::Int(lanes));
  kernel.body = loop::MakeStore("o", DataType::kFloat32, item,
                                loop::LoadFrom("i", DataType::kFloat32, place, lanes));
  list.kernels = {kernel};
  compiler::LaunchStep launch;
  launch.buffers = {1, 0};
  launch.description = "O = I";
  list.steps = {launch};
  list.inputs = {0};
  list.outputs = {1};
  list.output_shapes = {shape};
  compiler::CheckBounds(&list);
  return list;
}

absl::Status RunChecked(const compiler::KernelList& list) {
  const HostTensor input = HostTensor::Zeros(list.output_shapes[0]);
  const auto built = CompiledProgram::Build(list, TestDevice(), opencl::DialectOf(TestSettings()));
  if (!built.ok()) return built.status();
  const auto loaded = LoadedProgram::Load(*built, {});
  if (!loaded.ok()) return loaded.status();
  return (*loaded)->Run({input}).status();
}

TEST(CheckBounds, LetsAccessesWithinBuffersPass) {
  const loop::ExprPtr item = loop::Work(loop::WorkId::kGlobal, 0);
  EXPECT_EQ(RunChecked(CopyFrom(item)), absl::OkStatus());
  EXPECT_EQ(RunChecked(CopyFrom(loop::Mul(item, loop::Int(4)), 4)), absl::OkStatus());
}

TEST(CheckBounds, NamesTheAccessThatLeavesItsBuffer) {
  const loop::ExprPtr item = loop::Work(loop::WorkId::kGlobal, 0);
  const absl::Status after = RunChecked(CopyFrom(loop::Add(item, loop::Int(1))));
  EXPECT_EQ(after.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(after.message(),
            "kernel copy_checked, launch 0 (O = I): index 8 with 1 lanes is outside of 'I' "
            "float32[8], which has 8 elements");
  const absl::Status before = RunChecked(CopyFrom(loop::Sub(item, loop::Int(1))));
  EXPECT_THAT(std::string(before.message()), HasSubstr("index -1 with 1 lanes"));
  const absl::Status vector =
      RunChecked(CopyFrom(loop::Add(loop::Mul(item, loop::Int(4)), loop::Int(1)), 4));
  EXPECT_THAT(std::string(vector.message()), HasSubstr("index 5 with 4 lanes"));
}

// Compares with unchecked kernels for matmuls, padded convolutions, gathers and fused rows, in both
// tiers.
TEST(CheckBounds, ChangesNoResult) {
  for (const compiler::Tier tier : {compiler::Tier::kExact, compiler::Tier::kReady}) {
    CompileOptions options;
    options.settings = TestSettings();
    options.tier = tier;
    options.check_bounds = true;
    size_t taken = 0;
    for (const TestProgram& program : TestPrograms()) {
      if (taken++ % 12 != 0) continue;
      SCOPED_TRACE(program.name);
      const auto compiled = TestProgramCache().Get(ToProto(program), options);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      ExpectNaiveResults(*compiled, program, RandomInputs(program, 3), 1e-3);
    }
  }
}

}  // namespace
}  // namespace tartan::evaluator
