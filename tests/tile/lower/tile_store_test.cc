// SPDX-License-Identifier: Apache-2.0
// Tests how the values of a tile are stored.
#include "tile/lower/cpu/tile_store.h"

#include <gtest/gtest.h>

#include "tile/plan/cpu/streamed_stores.h"

namespace tartan::lower::tile_store_test {
namespace {

using loop::StmtPtr;
using math::Affine;

constexpr DataType kF32 = DataType::kFloat32;

// Returns an elementwise kernel over y and x that writes float32 at `coords` of a tensor with
// `dims`.
poly::FlatContraction Elementwise(int64_t rows, int64_t columns, std::vector<Affine> coords,
                                  std::vector<int64_t> dims) {
  poly::FlatContraction flat;
  flat.indices = {{"y", rows}, {"x", columns}};
  flat.output_index_count = 2;
  flat.output_coords = std::move(coords);
  flat.output_dims = dims;
  flat.outputs = {{0, {kF32, std::move(dims)}, nullptr}};
  return flat;
}

poly::FlatContraction Rows(int64_t rows, int64_t columns) {
  return Elementwise(rows, columns, {Affine::Variable(0), Affine::Variable(1)}, {rows, columns});
}

// Returns a plan with tiles of `width` values of x in vectors of `lanes`.
plan::CpuPlan PlanOf(const poly::FlatContraction& flat, int64_t width, int lanes = 8) {
  plan::CpuPlan plan = plan::ScalarPlan(flat, 1);
  plan.task = plan.unroll = {1, width};
  plan.order = {0, 1};
  plan.vector_index = 1;
  plan.lanes = lanes;
  return plan;
}

loop::ExprPtr Vector(int lanes, DataType type = kF32) { return loop::Var("v", {type, lanes}); }

// Returns the stores of the vector at `position` of a tile at y, x.
std::vector<StmtPtr> Stores(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                            const Position& position = {0, 0}) {
  IndexEmitter indices(flat, DataType::kInt32);
  indices.Set(0, loop::Var("y", {DataType::kInt32, 1}));
  indices.Set(1, loop::Var("x", {DataType::kInt32, 1}));
  std::vector<StmtPtr> before;
  return TileStore(flat, plan, indices).Emit(0, position, plan.lanes, Vector(plan.lanes), &before);
}

const loop::Store& StoreOf(const StmtPtr& stmt) { return std::get<loop::Store>(stmt->node); }

// Returns whether the vector is stored past the caches; such a store must be aligned.
bool IsStreamed(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                const Position& position = {0, 0}) {
  const std::vector<StmtPtr> stores = Stores(flat, plan, position);
  EXPECT_EQ(stores.size(), 1u);
  EXPECT_EQ(StoreOf(stores[0]).is_aligned, StoreOf(stores[0]).is_streamed);
  return StoreOf(stores[0]).is_streamed;
}

constexpr int64_t kColumns = 1024;
constexpr int64_t kRows = plan::kStreamedBytes / 4 / kColumns;

TEST(TileStore, KeepsSmallOutputsInTheCaches) {
  EXPECT_FALSE(IsStreamed(Rows(kRows - 1, kColumns), PlanOf(Rows(kRows - 1, kColumns), 16)));
}

TEST(TileStore, StreamsLargeOutputsInWholeLines) {
  const poly::FlatContraction flat = Rows(kRows, kColumns);
  EXPECT_TRUE(IsStreamed(flat, PlanOf(flat, 16)));
  EXPECT_TRUE(IsStreamed(flat, PlanOf(flat, 16), {0, 8}));
}

TEST(TileStore, StreamsHalvesOfLinesWhereTheOtherFollows) {
  const poly::FlatContraction flat = Rows(kRows, kColumns);
  plan::CpuPlan plan = PlanOf(flat, 8);
  EXPECT_TRUE(IsStreamed(flat, plan));
  plan.order = {1, 0};
  EXPECT_FALSE(IsStreamed(flat, plan));
}

TEST(TileStore, StreamsNoVectorsOffTheirBoundaries) {
  // A copy into the middle of a larger tensor.
  const poly::FlatContraction shifted =
      Elementwise(kRows, kColumns, {Affine::Variable(0), Affine::Variable(1) + Affine::Constant(1)},
                  {kRows, kColumns + 8});
  EXPECT_FALSE(IsStreamed(shifted, PlanOf(shifted, 16)));
  // Rows that begin between vector boundaries.
  const poly::FlatContraction odd = Elementwise(
      kRows, kColumns, {Affine::Variable(0), Affine::Variable(1)}, {kRows, kColumns + 4});
  EXPECT_FALSE(IsStreamed(odd, PlanOf(odd, 16)));
}

TEST(TileStore, StreamsNoTilesThatAreDrawnBack) {
  const poly::FlatContraction flat = Rows(kRows, kColumns + 8);
  EXPECT_FALSE(IsStreamed(flat, PlanOf(flat, 16)));
}

TEST(TileStore, StreamsNoReductions) {
  poly::FlatContraction flat = Rows(kRows, kColumns);
  flat.body = poly::MakeNumber(1, kF32);
  EXPECT_FALSE(IsStreamed(flat, PlanOf(flat, 16)));
}

TEST(TileStore, StoresLaneByLaneWhereElementsLieApart) {
  const poly::FlatContraction transposed =
      Elementwise(6, 8, {Affine::Variable(1), Affine::Variable(0)}, {8, 6});
  const std::vector<StmtPtr> stores = Stores(transposed, PlanOf(transposed, 4, 4));
  ASSERT_EQ(stores.size(), 4u);
  EXPECT_EQ(ToString(StoreOf(stores[0]).index), "(y + (x * 6))");
  EXPECT_EQ(ToString(StoreOf(stores[3]).index), "((y + (x * 6)) + 18)");
  EXPECT_EQ(ToString(StoreOf(stores[3]).value), ToString(loop::LaneOf(Vector(4), 3)));
}

TEST(TileStore, InterleavesVectorsOfElementsTwoApart) {
  // Writes element 2 x + y of a row; one tile contains y = 0 and y = 1.
  const poly::FlatContraction flat =
      Elementwise(2, 8, {Affine::Variable(1) * 2 + Affine::Variable(0)}, {16});
  plan::CpuPlan plan = PlanOf(flat, 4, 4);
  plan.task[0] = plan.unroll[0] = 2;
  IndexEmitter indices(flat, DataType::kInt32);
  indices.Set(0, indices.Number(0));
  indices.Set(1, loop::Var("x", {DataType::kInt32, 1}));
  TileStore store(flat, plan, indices);
  std::vector<StmtPtr> before;
  store.BeginTile();
  const loop::ExprPtr even = loop::Var("even", {kF32, 4});
  const loop::ExprPtr odd = loop::Var("odd", {kF32, 4});
  EXPECT_TRUE(store.Emit(0, {0, 0}, 4, even, &before).empty());
  const std::vector<StmtPtr> stores = store.Emit(0, {1, 0}, 4, odd, &before);
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(ToString(StoreOf(stores[0]).index), "(x * 2)");
  EXPECT_TRUE(Equal(StoreOf(stores[0]).value, loop::MakeShuffle(even, odd, {0, 4, 1, 5})));
  EXPECT_EQ(ToString(StoreOf(stores[1]).index), "((x * 2) + 4)");
  EXPECT_TRUE(Equal(StoreOf(stores[1]).value, loop::MakeShuffle(even, odd, {2, 6, 3, 7})));
}

TEST(TileStore, NamesValuesThatSeveralStoresNeed) {
  const poly::FlatContraction transposed =
      Elementwise(6, 8, {Affine::Variable(1), Affine::Variable(0)}, {8, 6});
  const plan::CpuPlan plan = PlanOf(transposed, 4, 4);
  IndexEmitter indices(transposed, DataType::kInt32);
  for (int i = 0; i < 2; ++i) indices.Set(i, indices.Number(0));
  std::vector<StmtPtr> before;
  TileStore(transposed, plan, indices).Emit(0, {0, 0}, 4, loop::Add(Vector(4), Vector(4)), &before);
  EXPECT_EQ(before.size(), 1u);
}

}  // namespace
}  // namespace tartan::lower::tile_store_test
