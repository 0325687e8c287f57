// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/verify_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/half_programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler {
namespace {

using testing::HasSubstr;

// Returns the kernel list of a scatter: a copy and a launch.
KernelList Scatter() {
  for (const TestProgram& program : HalfPrograms()) {
    if (program.name == "ScatterNdIntoInputHalf") return *Compile(BindTestProgram(program), {});
  }
  return {};
}

std::string Complaint(const KernelList& list) {
  const absl::Status status = VerifyList(list);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  return std::string(status.message());
}

TEST(VerifyList, AcceptsWhatTheCompilerMakes) {
  ASSERT_EQ(Scatter().steps.size(), 2u);
  EXPECT_TRUE(VerifyList(Scatter()).ok());
}

TEST(VerifyList, FindsACopyBetweenTypes) {
  KernelList list = Scatter();
  list.buffers[std::get<CopyStep>(list.steps[0]).from].shape.type = DataType::kBFloat16;
  EXPECT_EQ(Complaint(list), "a copy uses 'A', whose type is bfloat16, as float16");
}

TEST(VerifyList, FindsACopyOfAnotherLength) {
  KernelList list = Scatter();
  list.buffers[std::get<CopyStep>(list.steps[0]).from].bytes = 2;
  EXPECT_EQ(Complaint(list), "a copy of 'A' moves 2 bytes, but 'O' has 30");
}

TEST(VerifyList, FindsAKernelThatTakesABufferForAnotherType) {
  KernelList list = Scatter();
  const auto& launch = std::get<LaunchStep>(list.steps[1]);
  list.buffers[launch.buffers.back()].shape.type = DataType::kFloat32;
  EXPECT_THAT(Complaint(list), HasSubstr("uses 'U', whose type is float32, as float16"));
}

TEST(VerifyList, FindsAKernelThatStoresInAnotherTypeThanItsParameters) {
  KernelList list = Scatter();
  list.kernels[0].parameters[0].stored = DataType::kFloat32;
  EXPECT_THAT(Complaint(list), HasSubstr("'out0' holds float32, not float16"));
}

TEST(VerifyList, FindsTwoKernelsOfOneName) {
  KernelList list = Scatter();
  list.kernels.push_back(list.kernels[0]);
  EXPECT_THAT(Complaint(list), HasSubstr("two kernels are named"));
}

TEST(VerifyList, FindsAnOutputOfAnotherTypeThanItsBuffer) {
  KernelList list = Scatter();
  list.output_shapes[0].type = DataType::kFloat32;
  EXPECT_EQ(Complaint(list), "an output uses 'O', whose type is float16, as float32");
}

TEST(VerifyList, FindsAMissingBuffer) {
  KernelList list = Scatter();
  std::get<LaunchStep>(list.steps[1]).buffers[0] = -1;
  EXPECT_THAT(Complaint(list), HasSubstr("names buffer -1"));
}

TEST(VerifyList, FindsViewsThatOverlap) {
  KernelList list = Scatter();
  const BufferInfo base = list.buffers[0];
  const auto add_view = [&](int64_t offset, int64_t bytes) {
    list.buffers.push_back({"view", BufferKind::kTemporary, base.shape, bytes, 0, offset});
  };
  add_view(0, 8);
  add_view(8, 8);
  add_view(0, 8);
  EXPECT_TRUE(VerifyList(list).ok());
  add_view(4, 8);
  EXPECT_EQ(Complaint(list), absl::StrCat("views of '", base.name, "' overlap at byte 4"));
}

}  // namespace
}  // namespace tartan::compiler
