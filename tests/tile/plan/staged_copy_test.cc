// SPDX-License-Identifier: Apache-2.0
// Tests staged copies of strided reads, for a channels-first 1x1 convolution with stride 2.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan::staged_copy_test {
namespace {

struct Copy {
  std::string name;
  char vector = 'x';    // index that is vectorized
  int lanes = 4;        // lanes per vector
  int64_t vectors = 1;  // vectors per register tile
  int64_t rows = 1;     // rows of the register tile along x, if x is not vectorized
  int level = 0;        // loop level of the block
};

class EveryOther : public testing::TestWithParam<Copy> {
 protected:
  static int IndexOf(const poly::FlatContraction& flat, char name) {
    const auto at = std::find_if(flat.indices.begin(), flat.indices.end(),
                                 [&](const poly::Index& index) { return index.name[0] == name; });
    EXPECT_NE(at, flat.indices.end()) << name;
    return static_cast<int>(at - flat.indices.begin());
  }

  static PlannedKernel Plan(const poly::FlatContraction& flat) {
    const Copy& copy = GetParam();
    CpuPlan plan = ScalarPlan(flat, 1);
    for (int i = 0; i < flat.output_index_count; ++i) plan.task[i] = flat.indices[i].range;
    plan.vector_index = IndexOf(flat, copy.vector);
    plan.lanes = copy.lanes;
    plan.unroll[plan.vector_index] = copy.lanes * copy.vectors;
    if (copy.vector != 'x') plan.unroll[IndexOf(flat, 'x')] = copy.rows;
    plan.unroll[IndexOf(flat, 'y')] = 2;
    plan.block = BlockPlan{copy.level, -1, 0, {0}};
    EXPECT_TRUE(CanStage(flat, 0));
    return {flat, plan, {}, 0, ""};
  }
};

// The read of the tensor's last element must not load beyond the tensor.
TEST_P(EveryOther, PlaceIsReadAndNoneBehindTheTensor) {
  const TestProgram program = {
      "stride",
      "function (D[C, Y, X], K[O, C]) -> (R) "
      "{ R[o, y, x : O, (Y + 1) / 2, (X + 1) / 2] = +(D[c, 2 * y, 2 * x] * K[o, c]); }",
      {{DataType::kFloat32, {5, 7, 37}}, {DataType::kFloat32, {18, 5}}}};
  compiler::CompileHooks hooks;
  hooks.planner = [](const poly::FlatContraction& flat, const plan::LaunchContext&) {
    return Plan(poly::MergeIndices(flat));
  };
  const auto list = compiler::Compile(BindTestProgram(program), compiler::CompileOptions(), hooks);
  ASSERT_TRUE(list.ok()) << list.status();
  compiler::ExpectNaiveResults(program, *list);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryOther,
    testing::Values(Copy{"Vectors", 'x', 8, 1, 1, 0}, Copy{"SeveralVectors", 'x', 4, 3, 1, 0},
                    Copy{"InnerBlock", 'x', 4, 2, 1, 2}, Copy{"OneWideVector", 'x', 16, 1, 1, 1},
                    Copy{"SevenRows", 'o', 8, 2, 7, 0}, Copy{"ThreeRows", 'o', 4, 1, 3, 1},
                    Copy{"ManyRows", 'o', 2, 3, 13, 0}, Copy{"OneRow", 'o', 8, 1, 1, 0}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::plan::staged_copy_test
