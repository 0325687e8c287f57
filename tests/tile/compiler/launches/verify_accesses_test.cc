// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/verify_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/loop/build.h"

namespace tartan::compiler {
namespace {

using testing::HasSubstr;

// Two kernels with 8 elements each: the first computes B from A, the second C from B.
KernelList Chain() {
  KernelList list;
  const TensorShape shape{DataType::kFloat32, {8}};
  list.buffers = {{"A", BufferKind::kInput, shape, 32},
                  {"B", BufferKind::kTemporary, shape, 32},
                  {"C", BufferKind::kOutput, shape, 32}};
  loop::Kernel kernel;
  kernel.name = "k0_copy";
  kernel.parameters = {{"o", DataType::kFloat32, true}, {"i", DataType::kFloat32}};
  kernel.global_size[0] = 8;
  const loop::ExprPtr place = loop::Work(loop::WorkId::kGlobal, 0);
  kernel.body = loop::MakeStore("o", DataType::kFloat32, place,
                                loop::LoadFrom("i", DataType::kFloat32, place));
  list.kernels = {kernel};
  LaunchStep first;
  first.buffers = {1, 0};
  LaunchStep second;
  second.buffers = {2, 1};
  list.steps = {first, second};
  list.inputs = {0};
  list.outputs = {2};
  list.output_shapes = {shape};
  return list;
}

std::string WrongWrites(const KernelList& list) {
  return std::string(VerifyWrites(list).message());
}

TEST(VerifyWrites, AcceptsAListThatWritesWhatItReads) { EXPECT_EQ(WrongWrites(Chain()), ""); }

TEST(VerifyWrites, AcceptsEveryTestProgramInBothTiers) {
  for (const TestProgram& program : TestPrograms()) {
    for (const Tier tier : {Tier::kExact, Tier::kReady}) {
      CompileOptions options;
      options.tier = tier;
      const auto list = Compile(BindTestProgram(program), options);
      ASSERT_TRUE(list.ok()) << program.name << ": " << list.status();
      EXPECT_EQ(WrongWrites(*list), "") << program.name;
      EXPECT_EQ(VerifyBounds(*list).message(), "") << program.name;
    }
  }
}

TEST(VerifyWrites, FindsAnOutputThatNobodyWrites) {
  KernelList list = Chain();
  list.steps.pop_back();
  EXPECT_EQ(WrongWrites(list),
            "'C' float32[8] is an output, but no step has written its element 0");
}

TEST(VerifyWrites, FindsAStepThatReadsTooEarly) {
  KernelList list = Chain();
  std::swap(list.steps[0], list.steps[1]);
  EXPECT_EQ(WrongWrites(list),
            "'B' float32[8] is read by kernel k0_copy, but no step has written its element 0");
}

TEST(VerifyWrites, FindsTheFirstElementThatIsMissing) {
  KernelList list = Chain();
  list.kernels.push_back(list.kernels[0]);
  list.kernels[1].global_size[0] = 5;
  std::get<LaunchStep>(list.steps[0]).kernel = 1;
  EXPECT_THAT(WrongWrites(list), HasSubstr("no step has written its element 5"));
}

TEST(VerifyBounds, FindsLoadsAndStoresOutsideOfBuffers) {
  EXPECT_EQ(VerifyBounds(Chain()).message(), "");
  KernelList list = Chain();
  list.kernels[0].global_size[0] = 9;
  EXPECT_EQ(VerifyBounds(list).message(),
            "kernel k0_copy accesses 1 elements from element 8 of 'A' float32[8], which has 8");
}

}  // namespace
}  // namespace tartan::compiler
