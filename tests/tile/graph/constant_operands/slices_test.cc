// SPDX-License-Identifier: Apache-2.0
// Tests which gathers become slices, and with which offset.
#include "tile/graph/constant_operands/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

ir::Program Bound(const std::string& gather) {
  return BindTestProgram({"test",
                          absl::StrCat("function (A, I) -> (R) { R = ", gather, "; }"),
                          {{DataType::kFloat32, {4, 5, 6}}, {DataType::kInt32, {}}}});
}

// Returns the access by which the result reads A.
std::vector<math::Affine> ReadOf(const std::string& gather) {
  const ir::Program original = Bound(gather);
  const ir::Program program = SliceConstantGathers(original);
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  const ir::Value& result = program.values[program.outputs[0]];
  EXPECT_EQ(result.shape, original.values[original.outputs[0]].shape);
  const auto* slice = std::get_if<ir::Contraction>(&result.op);
  return slice == nullptr ? std::vector<math::Affine>() : slice->inputs.front().indices;
}

TEST(SliceConstantGathers, ReadsAtThePlaceAlongItsAxis) {
  const math::Affine x = math::Affine::Variable(0);
  const math::Affine y = math::Affine::Variable(1);
  EXPECT_THAT(ReadOf("gather(A, 3, 0)"), testing::ElementsAre(math::Affine::Constant(3), x, y));
  EXPECT_THAT(ReadOf("gather(A, 2, 1)"), testing::ElementsAre(x, math::Affine::Constant(2), y));
}

TEST(SliceConstantGathers, CountsNegativePlacesFromTheEndAndStaysInTheTensor) {
  const auto place = [](int position) {
    return ReadOf(absl::StrCat("gather(A, ", position, ", 0)"));
  };
  EXPECT_EQ(place(-1), place(3));
  EXPECT_EQ(place(-4), place(0));
  EXPECT_EQ(place(9), place(3));
  EXPECT_EQ(place(-9), place(0));
}

TEST(SliceConstantGathers, LeavesGathersAtDataAlone) {
  const ir::Program program = Bound("gather(A, I, 0)");
  EXPECT_EQ(SliceConstantGathers(program), program);
}

}  // namespace
}  // namespace tartan::graph
