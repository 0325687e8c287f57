// SPDX-License-Identifier: Apache-2.0
// The 3x3 convolution with ReLU of the kernel-generation article: its tables, number by number.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/gpu/tile_layout.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/tile_terms.h"

namespace tartan::plan {
namespace {

poly::FlatContraction SeedKernel() {
  const ir::Program program = BindTestProgram(
      {"Seed",
       "function (D[N, X, Y, CI], K[I, J, CO, CI]) -> (R) { O[n, x, y, co : N, X, Y, CO] = "
       "+(D[n, x+i-1, y+j-1, ci] * K[i, j, co, ci]); R = (O > 0 ? O : 0); }",
       {{DataType::kFloat32, {32, 224, 224, 64}}, {DataType::kFloat32, {3, 3, 64, 64}}}});
  std::optional<poly::FlatContraction> kernel;
  compiler::CompileOptions options;
  options.settings.threads = 256;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const std::vector<bool>&) {
    kernel = flat;
    return PlannedKernel{flat, ScalarPlan(flat, 256), {}, 0, ""};
  };
  EXPECT_TRUE(compiler::Compile(program, options, hooks).ok());
  return *kernel;
}

using Sizes = std::map<std::string, int64_t>;

std::vector<int64_t> Tile(const poly::FlatContraction& flat, const Sizes& sizes) {
  std::vector<int64_t> tile;
  for (const poly::Index& index : flat.indices) tile.push_back(sizes.at(index.name));
  return tile;
}

Sizes Strides(const poly::FlatContraction& flat, const poly::FlatAccess& access) {
  Sizes strides;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    strides[flat.indices[i].name] = access.strides[i];
  }
  strides["off"] = access.offset;
  return strides;
}

// Sorted names of a merged index → range, global stride, local stride, work-items.
using Rows = std::map<std::string, std::vector<int64_t>>;

Rows RowsOf(const poly::FlatContraction& flat, const TileLayout& layout) {
  Rows rows;
  for (const TileDim& dim : layout.dims) {
    std::vector<std::string> names;
    for (const TileDim::Member& member : dim.members) {
      names.push_back(flat.indices[member.index].name);
    }
    std::sort(names.begin(), names.end());
    std::string name;
    for (const std::string& part : names) name += (name.empty() ? "" : "_") + part;
    rows[name] = {dim.range, dim.global_stride, dim.local_stride, dim.threads};
  }
  return rows;
}

const Sizes kSeedTile = {{"ci", 8}, {"co", 32}, {"i", 2}, {"j", 3}, {"n", 16}, {"x", 2}, {"y", 2}};

TEST(SeedConvolution, FlattensToTheTable) {
  const poly::FlatContraction flat = SeedKernel();
  Sizes ranges;
  for (const poly::Index& index : flat.indices) ranges[index.name] = index.range;
  EXPECT_EQ(ranges,
            (Sizes{{"ci", 64}, {"co", 64}, {"i", 3}, {"j", 3}, {"n", 32}, {"x", 224}, {"y", 224}}));
  const int count = static_cast<int>(flat.indices.size());
  const auto access = [&](int a) {
    const poly::TensorAccess& read = flat.accesses[a];
    return Strides(flat, poly::Flatten(read.coords, flat.tensors[read.tensor].shape.dims, count));
  };
  EXPECT_EQ(Strides(flat, poly::Flatten(flat.output_coords, flat.output_dims, count)),
            (Sizes{{"ci", 0},
                   {"co", 1},
                   {"i", 0},
                   {"j", 0},
                   {"n", 3211264},
                   {"x", 14336},
                   {"y", 64},
                   {"off", 0}}));
  EXPECT_EQ(access(0), (Sizes{{"ci", 1},
                              {"co", 0},
                              {"i", 14336},
                              {"j", 64},
                              {"n", 3211264},
                              {"x", 14336},
                              {"y", 64},
                              {"off", -14400}}));
  EXPECT_EQ(access(1), (Sizes{{"ci", 1},
                              {"co", 64},
                              {"i", 12288},
                              {"j", 4096},
                              {"n", 0},
                              {"x", 0},
                              {"y", 0},
                              {"off", 0}}));
}

TEST(SeedConvolution, HasTheFourConstraints) {
  const poly::FlatContraction flat = SeedKernel();
  // One-sided, with the coefficients of the indices: (…) <= limit.
  std::map<Sizes, int64_t> constraints;
  for (const math::RangeConstraint& constraint : flat.constraints) {
    Sizes above, below;
    for (size_t i = 0; i < flat.indices.size(); ++i) {
      const int64_t c = constraint.poly.coefficient(static_cast<int>(i)).numerator();
      if (c == 0) continue;
      above[flat.indices[i].name] = c;
      below[flat.indices[i].name] = -c;
    }
    const int64_t constant = constraint.poly.constant.numerator();
    constraints[above] = constraint.range - 1 - constant;
    constraints[below] = constant;
  }
  EXPECT_EQ(constraints, (std::map<Sizes, int64_t>{{{{"i", -1}, {"x", -1}}, -1},
                                                   {{{"i", 1}, {"x", 1}}, 224},
                                                   {{{"j", -1}, {"y", -1}}, -1},
                                                   {{{"j", 1}, {"y", 1}}, 224}}));
}

TEST(SeedConvolution, LaysTilesOutInOddStrides) {
  const poly::FlatContraction flat = SeedKernel();
  const std::vector<int64_t> tile = Tile(flat, kSeedTile);
  const TileLayout image = ReadPlan(flat, 0, tile, TileDevice());
  EXPECT_EQ(RowsOf(flat, image), (Rows{{"i_x", {3, 14336, 1, 1}},
                                       {"j_y", {4, 64, 393, 2}},
                                       {"ci", {8, 1, 49, 8}},
                                       {"n", {16, 3211264, 3, 16}}}));
  EXPECT_EQ(image.size, 1572);
  const TileLayout weights = ReadPlan(flat, 1, tile, TileDevice());
  EXPECT_EQ(RowsOf(flat, weights),
            (Rows{{"i_j", {6, 4096, 265, 1}}, {"ci", {8, 1, 33, 8}}, {"co", {32, 64, 1, 32}}}));
  EXPECT_EQ(weights.size, 1590);
}

TEST(SeedConvolution, AssignsOutputsToWorkItems) {
  const poly::FlatContraction flat = SeedKernel();
  const std::vector<int64_t> threads = OutputThreads(flat, Tile(flat, kSeedTile), TileDevice());
  Sizes named;
  for (size_t i = 0; i < threads.size(); ++i) named[flat.indices[i].name] = threads[i];
  EXPECT_EQ(named, (Sizes{{"co", 8}, {"y", 2}, {"x", 2}, {"n", 8}}));
}

std::string Terms(std::vector<int64_t> seed_order) {
  const poly::FlatContraction flat = SeedKernel();
  const std::vector<std::string> names = {"ci", "co", "i", "j", "n", "x", "y"};
  Sizes sizes;
  for (size_t i = 0; i < names.size(); ++i) sizes[names[i]] = seed_order[i];
  return ComputeTileTerms(flat, Tile(flat, sizes), TileDevice()).ToString();
}

TEST(SeedConvolution, CostsWhatTheOptimizerLogged) {
  EXPECT_EQ(Terms({8, 32, 1, 3, 16, 8, 2}),
            "to=236760072192 wg=12544 il=24 sm=20656 or=32768 mr=19456 mw=32768 op=256 rp=0 tu=256 "
            "over memory");
  EXPECT_EQ(Terms({8, 32, 1, 3, 16, 4, 4}),
            "to=236760072192 wg=12544 il=24 sm=16272 or=32768 mr=15360 mw=32768 op=256 rp=0 tu=256 "
            "over regs");
  EXPECT_EQ(Terms({16, 32, 1, 1, 16, 2, 2}),
            "to=236760072192 wg=50176 il=36 sm=6488 or=8192 mr=6144 mw=8192 op=256 rp=0 tu=256 "
            "flops_per_byte=20.5714 occupancy=20 roof_ratio=1 occ_ratio=1 thread_ratio=1 score=1");
  EXPECT_EQ(Terms({8, 32, 2, 1, 16, 2, 2}),
            "to=236760072192 wg=50176 il=48 sm=5264 or=8192 mr=5120 mw=8192 op=256 rp=0 tu=256 "
            "flops_per_byte=18.5806 occupancy=20 roof_ratio=0.929032 occ_ratio=1 thread_ratio=1 "
            "score=0.929032");
}

}  // namespace
}  // namespace tartan::plan
