// SPDX-License-Identifier: Apache-2.0
// Tests the plan of the kernel-generation article's 3x3 convolution with ReLU against the article's
// tables.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/tile_layout.h"

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
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext&) {
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

// Maps the sorted names of a merged index to its range, global stride, local stride, and
// work-items.
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

// Returns the layout of an access, with the work-items distributed.
TileLayout ReadPlan(const poly::FlatContraction& flat, int access,
                    const std::vector<int64_t>& tile) {
  constexpr int64_t kThreads = 256;
  constexpr int64_t kLineElements = 8;
  const poly::TensorAccess& read = flat.accesses[access];
  const poly::FlatAccess flattened = poly::Flatten(
      read.coords, flat.tensors[read.tensor].shape.dims, static_cast<int>(flat.indices.size()));
  TileLayout layout = OddLayout(MergeTileDims(flattened, tile, {}));
  SpreadThreads(kThreads, kLineElements, &layout);
  return layout;
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
  // Maps the coefficients of one-sided constraints to their limits: (…) <= limit.
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
  const TileLayout image = ReadPlan(flat, 0, tile);
  EXPECT_EQ(RowsOf(flat, image), (Rows{{"i_x", {3, 14336, 1, 1}},
                                       {"j_y", {4, 64, 393, 2}},
                                       {"ci", {8, 1, 49, 8}},
                                       {"n", {16, 3211264, 3, 16}}}));
  EXPECT_EQ(image.size, 1572);
  const TileLayout weights = ReadPlan(flat, 1, tile);
  EXPECT_EQ(RowsOf(flat, weights),
            (Rows{{"i_j", {6, 4096, 265, 1}}, {"ci", {8, 1, 33, 8}}, {"co", {32, 64, 1, 32}}}));
  EXPECT_EQ(weights.size, 1590);
}

}  // namespace
}  // namespace tartan::plan
