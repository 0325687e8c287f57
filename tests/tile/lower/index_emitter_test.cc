// SPDX-License-Identifier: Apache-2.0
// Tests index arithmetic, and conditions that are decided at compile time.
#include "tile/lower/emit/index_emitter.h"

#include <gtest/gtest.h>

#include "tile/lower/cpu/valid_lanes.h"

namespace tartan::lower {
namespace {

using math::Affine;
using math::RangeConstraint;

// A kernel with two output indices, i < 12 and j < 3.
poly::FlatContraction TwoIndices() {
  poly::FlatContraction flat;
  flat.indices = {{"i", 12}, {"j", 3}};
  flat.output_index_count = 2;
  return flat;
}

Affine I() { return Affine::Variable(0); }
Affine J() { return Affine::Variable(1); }
Affine Constant(int64_t value) { return Affine::Constant(value); }

class IndexEmitting : public testing::Test {
 protected:
  IndexEmitting() : flat_(TwoIndices()), indices_(flat_, DataType::kInt32) {
    for (int i = 0; i < 2; ++i) {
      indices_.Set(i, loop::Var(flat_.indices[i].name, {DataType::kInt32, 1}));
    }
  }

  std::string Emitted(const Affine& poly) { return ToString(indices_.Emit(poly)); }
  // Returns "" if no check is necessary at run time.
  std::string Condition(const Affine& poly, int64_t range, int64_t shift = 0) {
    const loop::ExprPtr condition = indices_.Condition({poly, range}, shift);
    return condition == nullptr ? "" : ToString(condition);
  }
  // Returns the valid lanes of a vector of 4 along i that begins at `begin`.
  LaneRange Lanes(int64_t begin, const std::vector<RangeConstraint>& constraints) {
    indices_.Set(0, indices_.Number(begin));
    return ValidLanes(indices_, constraints, {0, 4}, {0, 0});
  }
  std::optional<int> Distance(int64_t begin, const std::vector<RangeConstraint>& constraints) {
    indices_.Set(0, indices_.Number(begin));
    return DistanceToValid(flat_, indices_, constraints, {0, 4}, {0, 0});
  }

  poly::FlatContraction flat_;
  IndexEmitter indices_;
};

TEST_F(IndexEmitting, WritesNoTermsThatAreNothing) {
  EXPECT_EQ(Emitted(Constant(0)), "0");
  EXPECT_EQ(Emitted(I()), "i");
  EXPECT_EQ(Emitted(I() * 3 + J() + Constant(2)), "(((i * 3) + j) + 2)");
}

TEST_F(IndexEmitting, ChecksOnlyTheSidesThatRangesLeaveOpen) {
  EXPECT_EQ(Condition(I(), 12), "");
  EXPECT_EQ(Condition(I() + J(), 12), "((i + j) < 12)");
  EXPECT_EQ(Condition(I() - Constant(1), 12), "((i + -1) >= 0)");
  EXPECT_EQ(Condition(I() - Constant(1), 8), "(((i + -1) >= 0) and ((i + -1) < 8))");
}

TEST_F(IndexEmitting, ShiftsTheValueThatIsChecked) {
  EXPECT_EQ(Condition(I() + J(), 12, 5), "(((i + j) + 5) < 12)");
  EXPECT_EQ(ShiftAt(I() * 3 - J(), {2, 1}), 5);
  EXPECT_EQ(ShiftAt(I() * 3 - J(), {0, 0}), 0);
}

TEST_F(IndexEmitting, DecidesWhatDependsOnNumbersAlone) {
  const RangeConstraint on_i = {I() - Constant(1), 10};
  EXPECT_FALSE(IsDecided(indices_, on_i));
  indices_.Set(0, indices_.Number(4));
  EXPECT_TRUE(IsDecided(indices_, on_i));
  EXPECT_FALSE(IsDecided(indices_, {I() + J(), 10}));
}

TEST_F(IndexEmitting, FindsTheLanesWithinConstraints) {
  const std::vector<RangeConstraint> from_1_to_10 = {{I() - Constant(1), 10}};
  const auto expect = [&](int64_t begin, int first, int last) {
    const LaneRange lanes = Lanes(begin, from_1_to_10);
    EXPECT_EQ(lanes.begin, first) << begin;
    EXPECT_EQ(lanes.end, last) << begin;
  };
  expect(0, 1, 4);
  expect(4, 0, 4);
  expect(8, 0, 3);
  EXPECT_TRUE(Lanes(0, {{I() - Constant(4), 8}}).empty());
  // Both constraints together leave one lane.
  const LaneRange both = Lanes(0, {{I() - Constant(2), 10}, {I(), 3}});
  EXPECT_EQ(both.begin, 2);
  EXPECT_EQ(both.end, 3);
}

TEST_F(IndexEmitting, MovesVectorsToWhereAllLanesAreValid) {
  EXPECT_EQ(Distance(0, {{I() - Constant(1), 10}}), 1);
  EXPECT_EQ(Distance(8, {{I() - Constant(1), 10}}), -1);
  // The three valid values are fewer than a shifted vector needs.
  EXPECT_EQ(Distance(0, {{I() - Constant(2), 3}}), std::nullopt);
  // No point is beyond the end of the range.
  EXPECT_EQ(Distance(8, {{I() - Constant(10), 12}}), std::nullopt);
}

TEST_F(IndexEmitting, MovesNoVectorsWhosePlaceIsNoNumber) {
  EXPECT_EQ(DistanceToValid(flat_, indices_, {}, {0, 4}, {0, 0}), std::nullopt);
}

}  // namespace
}  // namespace tartan::lower
