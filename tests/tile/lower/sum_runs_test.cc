// SPDX-License-Identifier: Apache-2.0
// Tests how long sums are divided into K chunks.
#include <gtest/gtest.h>

#include "tile/lower/cpu/sum_chunks.h"

namespace tartan::lower {
namespace {

// Returns the kernel O[i : 64] = +(X[i, k]), k < terms.
poly::FlatContraction SumOf(int64_t terms) {
  poly::FlatContraction flat;
  flat.indices = {{"i", 64}, {"k", terms}};
  flat.output_index_count = 1;
  flat.aggregation = Aggregation::kSum;
  flat.accumulator_type = DataType::kFloat32;
  flat.body = poly::MakeNumber(1, DataType::kFloat32);
  return flat;
}

// Returns a plan with `outputs` accumulators.
plan::CpuPlan PlanOf(const poly::FlatContraction& flat, int64_t outputs) {
  plan::CpuPlan plan = plan::ScalarPlan(flat, 1);
  plan.task[0] = plan.unroll[0] = outputs;
  return plan;
}

SumChunks Divided(int64_t terms, int64_t outputs) {
  const poly::FlatContraction flat = SumOf(terms);
  return ChunkSum(flat, PlanOf(flat, outputs));
}

TEST(SumChunks, AreForLongSumsOnly) {
  EXPECT_EQ(Divided(63, 8).level, -1);
  EXPECT_EQ(Divided(64, 8).level, 0);
  EXPECT_EQ(Divided(31, 1).level, -1);
  EXPECT_EQ(Divided(32, 1).level, 0);
}

TEST(SumChunks, AreForSumsOfFloat32Only) {
  poly::FlatContraction flat = SumOf(1000);
  flat.accumulator_type = DataType::kFloat64;
  EXPECT_EQ(ChunkSum(flat, PlanOf(flat, 8)).level, -1);
  flat.accumulator_type = DataType::kInt32;
  EXPECT_EQ(ChunkSum(flat, PlanOf(flat, 8)).level, -1);
  flat.accumulator_type = DataType::kFloat32;
  flat.aggregation = Aggregation::kMax;
  EXPECT_EQ(ChunkSum(flat, PlanOf(flat, 8)).level, -1);
}

TEST(SumChunks, AreTwoHalvesBelow128) {
  for (const int64_t terms : {64, 77, 100, 127}) {
    const SumChunks runs = Divided(terms, 8);
    EXPECT_TRUE(runs.are_two) << terms;
    EXPECT_EQ(runs.steps, (terms + 1) / 2) << terms;
  }
}

TEST(SumChunks, HaveAtMost64NumbersAnd128InSumsFrom512On) {
  for (int64_t terms = 128; terms < 2000; terms += 7) {
    const SumChunks runs = Divided(terms, 8);
    ASSERT_EQ(runs.level, 0) << terms;
    EXPECT_LE(runs.steps, terms < 512 ? 64 : 128) << terms;
    // A chunk has a third of the limit or more: each costs a load, an addition and a store.
    EXPECT_GE(runs.steps, terms < 512 ? 22 : 43) << terms;
    EXPECT_EQ(runs.fine_steps, 0) << terms;
  }
}

TEST(SumChunks, AreEquallyLongWhereAFewMoreMakeThemSo) {
  EXPECT_EQ(Divided(200, 8).steps, 50);
  EXPECT_EQ(Divided(192, 8).steps, 64);
  EXPECT_EQ(Divided(131, 8).steps, 44);  // a prime: three chunks of nearly equal length
}

TEST(SumChunks, HaveRunsOf16WithinThemWhereAccumulatorsAreFew) {
  EXPECT_EQ(Divided(32, 1).steps, 16);
  EXPECT_EQ(Divided(512, 1).steps, 128);
  EXPECT_EQ(Divided(512, 1).fine_steps, 16);
  EXPECT_EQ(Divided(512, 8).fine_steps, 0);
}

TEST(SumChunks, AreTheShortRunsOfABlock) {
  const poly::FlatContraction flat = SumOf(768);
  plan::CpuPlan plan = PlanOf(flat, 8);
  plan.block = plan::BlockPlan{0, 1, 16, {}};
  EXPECT_EQ(ChunkSum(flat, plan).steps, 16);
  plan.block->chunk_length = 32;
  EXPECT_EQ(ChunkSum(flat, plan).steps, 32);
  // 96 chunks: the chain of their sums is shorter than the chain of 768 terms
  plan.block->chunk_length = 8;
  EXPECT_EQ(ChunkSum(flat, plan).steps, 8);
  plan.block->chunk_length = 4;
  EXPECT_EQ(ChunkSum(flat, plan).level, -1);
}

TEST(SumChunks, DivideTheOuterLoopWhereTheInnerOneIsShort) {
  // O[i : 64] = +(X[i, k, l]), l < 16: a chunk of 64 terms has 4 values of k.
  poly::FlatContraction flat = SumOf(20);
  flat.indices.push_back({"l", 16});
  const SumChunks runs = ChunkSum(flat, PlanOf(flat, 8));
  EXPECT_EQ(runs.level, 0);
  EXPECT_EQ(runs.steps, 4);
}

}  // namespace
}  // namespace tartan::lower
