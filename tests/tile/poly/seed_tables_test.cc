// SPDX-License-Identifier: Apache-2.0
// Tests the tables of the seed articles, computed from their Tile code and sizes. Here the indices
// of the output come first.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tile/graph/grouping/group.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"
#include "tile/poly/build_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Rational;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ir::Program BindCode(const char* code, const std::vector<std::vector<int64_t>>& inputs) {
  std::vector<TensorShape> shapes;
  for (const std::vector<int64_t>& dims : inputs) shapes.push_back({DataType::kFloat32, dims});
  return lang::Bind(lang::Parse(code).value(), shapes).value();
}

// Returns the only kernel of a function.
FlatContraction OnlyKernel(const char* code, const std::vector<std::vector<int64_t>>& inputs) {
  const ir::Program program = BindCode(code, inputs);
  const ProgramSpaces spaces = AnalyzeProgram(program).value();
  const ir::Grouping grouping = graph::GroupIntoKernels(program, spaces);
  EXPECT_EQ(grouping.groups.size(), 1u);
  return BuildKernel(program, spaces, grouping, grouping.groups[0]).value();
}

// Returns one row per index, "name range stride…" with one stride per tensor, the output's first;
// then the offsets.
std::vector<std::string> Table(const FlatContraction& flat) {
  const int count = static_cast<int>(flat.indices.size());
  std::vector<FlatAccess> columns = {Flatten(flat.output_coords, flat.output_dims, count)};
  for (const TensorAccess& access : flat.accesses) {
    columns.push_back(Flatten(access.coords, flat.tensors[access.tensor].shape.dims, count));
  }
  std::vector<std::string> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back(absl::StrCat(flat.indices[i].name, " ", flat.indices[i].range));
    for (const FlatAccess& column : columns) absl::StrAppend(&rows.back(), " ", column.strides[i]);
  }
  rows.push_back("off");
  for (const FlatAccess& column : columns) absl::StrAppend(&rows.back(), " ", column.offset);
  return rows;
}

std::vector<std::string> Names(const std::vector<Index>& indices) {
  std::vector<std::string> names;
  for (const Index& index : indices) names.push_back(index.name);
  return names;
}

std::vector<std::string> Texts(const std::vector<math::RangeConstraint>& constraints,
                               const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const auto& constraint : constraints) texts.push_back(constraint.ToString(names));
  return texts;
}

constexpr char kConvolution[] =
    "function (D[N, X, Y, CI], K[I, J, CO, CI]) -> (R) {"
    "  O[n, x, y, co : N, X, Y, CO] = +(D[n, x+i-1, y+j-1, ci] * K[i, j, co, ci]);"
    "  R = (O > 0 ? O : 0); }";

TEST(KernelGeneration, FlattensTheConvolutionToItsTable) {
  const FlatContraction flat = OnlyKernel(kConvolution, {{32, 224, 224, 64}, {3, 3, 64, 64}});
  EXPECT_THAT(Table(flat), ElementsAre("n 32 3211264 3211264 0",  //
                                       "x 224 14336 14336 0",     //
                                       "y 224 64 64 0",           //
                                       "co 64 1 0 64",            //
                                       "i 3 0 14336 12288",       //
                                       "j 3 0 64 4096",           //
                                       "ci 64 0 1 1",             //
                                       "off 0 -14400 0"));
  // The article's four one-sided constraints.
  EXPECT_THAT(Texts(flat.constraints, Names(flat.indices)),
              ElementsAre("0 <= x + i - 1 < 224", "0 <= y + j - 1 < 224"));
  EXPECT_EQ(flat.point_count(), 59190018048);
}

// _T1 = cmp_gt(O, 0); R = cond(_T1, O, 0)
TEST(KernelGeneration, AppliesTheOutputOperationsToTheAccumulator) {
  const FlatContraction flat = OnlyKernel(kConvolution, {{1, 4, 4, 2}, {3, 3, 2, 2}});
  ASSERT_EQ(flat.outputs.size(), 1u);
  const auto& select = std::get<Apply>(flat.outputs[0].expr->node);
  EXPECT_EQ(select.op, ScalarOp::kSelect);
  const auto& greater = std::get<Apply>(select.operands[0]->node);
  EXPECT_EQ(greater.op, ScalarOp::kGreater);
  EXPECT_TRUE(std::holds_alternative<Accumulator>(greater.operands[0]->node));
  EXPECT_TRUE(std::holds_alternative<Accumulator>(select.operands[1]->node));
  EXPECT_TRUE(std::holds_alternative<Literal>(select.operands[2]->node));
}

// M[i, i+j] of a 16x16 matrix is the element 17*i + j.
TEST(KernelGeneration, FlattensAnAccessToOneOffset) {
  const std::vector<Affine> coords = {Affine::Variable(0),
                                      Affine::Variable(0) + Affine::Variable(1)};
  EXPECT_EQ(Flatten(coords, {16, 16}, 2), (FlatAccess{0, {17, 1}}));
}

constexpr char kGradient[] =
    "function (DO[N, OH, OW, CO], K[KH, KW, CI, CO]) -> (DI) {"
    "  DI[n, 3*y + 2*j, 3*x + 2*i, ci : N, 3*OH, 3*OW, CI] = +(DO[n, y, x, co] * K[j, i, ci, "
    "co]); }";

class StridedDilatedGradient : public testing::Test {
 protected:
  // The contraction's indices in order of appearance.
  enum Original { kN, kY, kJ, kX, kI, kCi, kCo };

  StridedDilatedGradient()
      : program_(BindCode(kGradient, {{2, 3, 3, 7}, {2, 2, 5, 7}})),
        space_(*AnalyzeProgram(program_).value()[program_.outputs[0]]) {}

  const Affine& original(Original index) const { return space_.original[index]; }

  ir::Program program_;
  IndexSpace space_;
};

// With v1 and v2 as the output's coordinates, v4 = j and v5 = i: y = 1/3*v1 - 2/3*v4 and x = 1/3*v2
// - 2/3*v5.
TEST_F(StridedDilatedGradient, HoldsTheReducedForm) {
  const Rational third(1, 3);
  const std::vector<Affine>& v = space_.output_coords;
  EXPECT_EQ(original(kY), v[1] * third - original(kJ) * (third + third));
  EXPECT_EQ(original(kX), v[2] * third - original(kI) * (third + third));
  EXPECT_EQ(original(kN), v[0]);
  EXPECT_EQ(original(kCi), v[3]);
}

// v1 = v1_0 + 3*v1_1, v4 = 2*v1_0 + 3*v4_0, y = -v1_0 + v1_1 - 2*v4_0, 0 <= v1_0 < 3, and the same
// for v2 and v5; here v4_0 begins at 0, not at -1.
TEST_F(StridedDilatedGradient, HoldsTheDefractedForm) {
  const std::vector<std::string> names = Names(space_.indices);
  const auto text = [&](const Affine& poly) { return poly.ToString(names); };
  EXPECT_EQ(text(space_.output_coords[1]), "3*y_1 + y_0");
  EXPECT_EQ(text(space_.output_coords[2]), "3*x_1 + x_0");
  EXPECT_EQ(text(original(kJ)), "2*y_0 + 3*j_0 - 3");
  EXPECT_EQ(text(original(kI)), "2*x_0 + 3*i_0 - 3");
  EXPECT_EQ(text(original(kY)), "y_1 - y_0 - 2*j_0 + 2");
  EXPECT_EQ(text(original(kX)), "x_1 - x_0 - 2*i_0 + 2");
  for (const Index& index : space_.indices) {
    if (index.name == "y_0" || index.name == "x_0") {
      EXPECT_EQ(index.range, 3);
    }
  }
}

TEST_F(StridedDilatedGradient, FlattensToItsTable) {
  EXPECT_THAT(Table(OnlyKernel(kGradient, {{2, 3, 3, 7}, {2, 2, 5, 7}})),
              ElementsAre("n 2 405 63 0",      //
                          "y_1 3 135 21 0",    //
                          "y_0 3 45 -21 140",  //
                          "x_1 3 15 7 0",      //
                          "x_0 3 5 -7 70",     //
                          "ci 5 1 0 7",        //
                          "j_0 2 0 -42 210",   //
                          "i_0 2 0 -14 105",   //
                          "co 7 0 1 1",        //
                          "off 0 56 -315"));
}

TEST(StridedDilatedConvolution, FlattensToItsTableWithoutConstraints) {
  const FlatContraction flat = OnlyKernel(
      "function (I[N, H, W, CI], K[KH, KW, CI, CO]) -> (O) {"
      "  O[n, y, x, co : N, H/3, W/3, CO] = +(I[n, 3*y + 2*j, 3*x + 2*i, ci] * K[j, i, ci, co]); }",
      {{2, 9, 9, 5}, {2, 2, 5, 7}});
  EXPECT_THAT(Table(flat), ElementsAre("n 2 63 405 0",  //
                                       "y 3 21 135 0",  //
                                       "x 3 7 15 0",    //
                                       "co 7 1 0 1",    //
                                       "j 2 0 90 70",   //
                                       "i 2 0 10 35",   //
                                       "ci 5 0 1 7",    //
                                       "off 0 0 0"));
  EXPECT_THAT(flat.constraints, IsEmpty());
}

}  // namespace
}  // namespace tartan::poly
