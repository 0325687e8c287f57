// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/plan_memo.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tile/fuse/matmul.h"
#include "tile/plan/select/ready_plan.h"

namespace tartan::fuse {
namespace {

poly::FlatContraction Product(const std::string& name, ir::ValueId a, ir::ValueId b,
                              ir::ValueId result, int64_t rows = 64) {
  return MatmulKernel(name, {rows, 48, 32}, a, b, result);
}

const std::vector<bool> kWeights = {false, true};

class PlanMemoTest : public testing::Test {
 protected:
  Planned GetIn(const plan::LaunchContext& launch, const poly::FlatContraction& flat) {
    return memo_.Get(Planner::kAny, flat, launch, /*is_launch=*/true, [&] {
      ++planned_;
      return plan::PlanReady(flat, Cpu(), launch.is_constant);
    });
  }
  Planned Get(const poly::FlatContraction& flat, const std::vector<bool>& is_constant = kWeights) {
    return GetIn({is_constant}, flat);
  }

  PlanMemo memo_;
  int planned_ = 0;
};

// Compares everything that a scheduler reads from a plan.
void ExpectSame(const plan::PlannedKernel& actual, const plan::PlannedKernel& expected) {
  EXPECT_EQ(poly::ToString(actual.flat), poly::ToString(expected.flat));
  EXPECT_EQ(plan::ToString(actual.plan, actual.flat), plan::ToString(expected.plan, expected.flat));
  ASSERT_EQ(actual.flat.tensors.size(), expected.flat.tensors.size());
  for (size_t t = 0; t < actual.flat.tensors.size(); ++t) {
    EXPECT_EQ(actual.flat.tensors[t].value, expected.flat.tensors[t].value);
  }
  EXPECT_EQ(actual.flat.outputs[0].value, expected.flat.outputs[0].value);
  ASSERT_EQ(actual.packed.size(), expected.packed.size());
  for (size_t p = 0; p < actual.packed.size(); ++p) {
    EXPECT_EQ(actual.packed[p].source, expected.packed[p].source);
    EXPECT_EQ(actual.packed[p].copy.name, expected.packed[p].copy.name);
    EXPECT_EQ(actual.packed[p].copy.tensors[0].value, expected.packed[p].copy.tensors[0].value);
    EXPECT_EQ(actual.packed[p].copy.outputs[0].value, expected.packed[p].copy.outputs[0].value);
  }
}

TEST_F(PlanMemoTest, PlansLayersThatAreAlikeOnce) {
  const Planned first = Get(Product("P", 1, 2, 3));
  ASSERT_FALSE(first.kernel.packed.empty()) << "the weights are packed: their value must be moved";
  const poly::FlatContraction other = Product("Q", 5, 4, 9);
  const Planned second = Get(other);
  EXPECT_EQ(planned_, 1);
  EXPECT_EQ(second.form, first.form);
  ExpectSame(second.kernel, plan::PlanReady(other, Cpu(), kWeights));
}

TEST_F(PlanMemoTest, TellsSizesAndConstantsApart) {
  const int form = Get(Product("P", 1, 2, 3)).form;
  EXPECT_NE(Get(Product("P", 1, 2, 3, /*rows=*/63)).form, form);
  EXPECT_NE(Get(Product("P", 1, 2, 3), {false, false}).form, form);
  EXPECT_EQ(planned_, 3);
}

TEST_F(PlanMemoTest, TellsContextsApart) {
  const int form = Get(Product("P", 1, 2, 3)).form;
  EXPECT_NE(GetIn({.is_constant = kWeights, .copied_bytes = 8}, Product("P", 1, 2, 3)).form, form);
  EXPECT_NE(GetIn({.is_constant = kWeights, .stays_in_cache = true}, Product("P", 1, 2, 3)).form,
            form);
  EXPECT_EQ(planned_, 3);
}

// A plan for one tensor read as both operands does not apply to two different tensors.
TEST_F(PlanMemoTest, PlansAnewWhereValuesAreNotClear) {
  poly::FlatContraction square = Product("S", 1, 1, 3, /*rows=*/48);
  const int form = Get(square, {false, false}).form;
  const poly::FlatContraction product = Product("P", 1, 2, 3, /*rows=*/48);
  const Planned planned = Get(product, {false, false});
  EXPECT_EQ(planned_, 2);
  EXPECT_EQ(planned.form, form);
  ExpectSame(planned.kernel, plan::PlanReady(product, Cpu(), {false, false}));
}

TEST_F(PlanMemoTest, PlansEachPatternOfEqualValuesOnce) {
  Get(Product("S", 1, 1, 3, /*rows=*/48), {false, false});
  Get(Product("P", 1, 2, 3, /*rows=*/48), {false, false});
  const poly::FlatContraction square = Product("T", 4, 4, 5, /*rows=*/48);
  const Planned planned = Get(square, {false, false});
  const Planned product = Get(Product("Q", 4, 6, 5, /*rows=*/48), {false, false});
  EXPECT_EQ(planned_, 2);
  EXPECT_EQ(planned.form, product.form);
  ExpectSame(planned.kernel, plan::PlanReady(square, Cpu(), {false, false}));
}

}  // namespace
}  // namespace tartan::fuse
