// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/analyze_contraction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/poly/enumerate.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Rational;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Terms of a polynomial: {"x", 2} or {"", constant}.
using Poly = std::vector<std::pair<std::string, Rational>>;
using Access = std::vector<Poly>;

class Builder {
 public:
  explicit Builder(std::vector<std::string> names) {
    problem_.contraction.index_names = std::move(names);
  }
  Builder& Output(const Access& access, std::vector<int64_t> dims) {
    problem_.contraction.output = Convert(access);
    problem_.output_dims = std::move(dims);
    return *this;
  }
  Builder& Input(const Access& access, std::vector<int64_t> dims) {
    problem_.contraction.inputs.push_back(Convert(access));
    problem_.input_dims.push_back(std::move(dims));
    return *this;
  }
  Builder& Constrain(const Poly& poly, int64_t range) {
    problem_.contraction.constraints.push_back({Convert(poly), range});
    return *this;
  }
  const Problem& problem() const { return problem_; }

 private:
  Affine Convert(const Poly& poly) const {
    Affine result = Affine::Constant(0);
    const auto& names = problem_.contraction.index_names;
    for (const auto& [name, value] : poly) {
      auto it = std::find(names.begin(), names.end(), name);
      if (it == names.end()) {
        result.constant = result.constant + value;
      } else {
        result = result + Affine::Variable(static_cast<int>(it - names.begin()), value);
      }
    }
    return result;
  }
  ir::Access Convert(const Access& access) const {
    ir::Access result;
    for (const Poly& poly : access) result.indices.push_back(Convert(poly));
    return result;
  }

  Problem problem_;
};

absl::StatusOr<IndexSpace> Analyze(const Problem& problem) {
  return AnalyzeContraction(problem.contraction, problem.output_dims, problem.input_dims);
}

// Analyses, and checks against the definition unless the problem is too large to enumerate.
IndexSpace Checked(const Builder& builder) {
  auto space = Analyze(builder.problem());
  EXPECT_TRUE(space.ok()) << space.status();
  if (!space.ok()) return {};
  if (auto valid = ValidPoints(builder.problem(), 100, 20000)) {
    Comparison comparison = Compare(builder.problem(), *space, *valid, 1000000);
    EXPECT_EQ(comparison.error, "");
    EXPECT_EQ(comparison.loose_bounds, 0);
  }
  return *std::move(space);
}

std::vector<std::string> Names(const IndexSpace& space) {
  std::vector<std::string> names;
  for (const Index& index : space.indices) names.push_back(index.name);
  return names;
}

std::vector<std::string> Indices(const IndexSpace& space) {
  std::vector<std::string> result;
  for (const Index& index : space.indices) {
    result.push_back(absl::StrCat(index.name, ":", index.range));
  }
  return result;
}

std::vector<std::string> Texts(const IndexSpace& space, const std::vector<Affine>& polys) {
  std::vector<std::string> result;
  for (const Affine& poly : polys) result.push_back(poly.ToString(Names(space)));
  return result;
}

std::vector<std::string> Texts(const IndexSpace& space,
                               const std::vector<math::RangeConstraint>& constraints) {
  std::vector<std::string> result;
  for (const auto& constraint : constraints) result.push_back(constraint.ToString(Names(space)));
  return result;
}

TEST(AnalyzeContraction, LeavesAMatrixProductAlone) {
  IndexSpace space = Checked(Builder({"i", "j", "k"})
                                 .Output({{{"i", 1}}, {{"j", 1}}}, {4, 5})
                                 .Input({{{"i", 1}}, {{"k", 1}}}, {4, 6})
                                 .Input({{{"k", 1}}, {{"j", 1}}}, {6, 5}));
  EXPECT_THAT(Indices(space), ElementsAre("i:4", "j:5", "k:6"));
  EXPECT_EQ(space.output_index_count, 2);
  EXPECT_THAT(Texts(space, space.original), ElementsAre("i", "j", "k"));
  EXPECT_THAT(Texts(space, space.output_coords), ElementsAre("i", "j"));
  EXPECT_THAT(space.constraints, IsEmpty());
  EXPECT_THAT(space.store_guard, IsEmpty());
  EXPECT_TRUE(space.covers_output);
  EXPECT_FALSE(space.may_be_empty);
}

// The example of the kernel generation document: O[n, x, y, co] = +(D[n, x+i-1, y+j-1, ci] * K[…]).
TEST(AnalyzeContraction, FindsTheTablesOfTheSameConvolution) {
  IndexSpace space =
      Checked(Builder({"n", "x", "y", "co", "i", "j", "ci"})
                  .Output({{{"n", 1}}, {{"x", 1}}, {{"y", 1}}, {{"co", 1}}}, {32, 224, 224, 64})
                  .Input({{{"n", 1}},
                          {{"x", 1}, {"i", 1}, {"", -1}},
                          {{"y", 1}, {"j", 1}, {"", -1}},
                          {{"ci", 1}}},
                         {32, 224, 224, 64})
                  .Input({{{"i", 1}}, {{"j", 1}}, {{"co", 1}}, {{"ci", 1}}}, {3, 3, 64, 64}));
  EXPECT_THAT(Indices(space),
              ElementsAre("n:32", "x:224", "y:224", "co:64", "i:3", "j:3", "ci:64"));
  EXPECT_EQ(space.output_index_count, 4);
  EXPECT_THAT(Texts(space, space.constraints),
              ElementsAre("0 <= x + i - 1 < 224", "0 <= y + j - 1 < 224"));
  EXPECT_THAT(Texts(space, space.original), ElementsAre("n", "x", "y", "co", "i", "j", "ci"));
  EXPECT_TRUE(space.covers_output);
  EXPECT_THAT(space.store_guard, IsEmpty());
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, NeedsNoConstraintsForAValidConvolution) {
  IndexSpace space = Checked(Builder({"x", "co", "i", "ci"})
                                 .Output({{{"x", 1}}, {{"co", 1}}}, {6, 4})
                                 .Input({{{"x", 2}, {"i", 1}}, {{"ci", 1}}}, {13, 3})
                                 .Input({{{"i", 1}}, {{"co", 1}}, {{"ci", 1}}}, {3, 4, 3}));
  EXPECT_THAT(Indices(space), ElementsAre("x:6", "co:4", "i:3", "ci:3"));
  EXPECT_THAT(space.constraints, IsEmpty());
  EXPECT_FALSE(space.may_be_empty);
}

// The example of the differentiation document, at its sizes:
// DI[n, 3*y + 2*j, 3*x + 2*i, ci : 2, 9, 9, 5] = +(DO[n, y, x, co] * K[j, i, ci, co]).
// Its transformation is v1 = v1_0 + 3*v1_1, j = 2*v1_0 + 3*v4_0, y = -v1_0 + v1_1 - 2*v4_0 with
// 0 <= v1_0 < 3. Here v1_0 = y_0, v1_1 = y_1 and v4_0 = j_0 - 1, which takes -1 and 0.
TEST(AnalyzeContraction, ReducesAndDefractsTheGradientOfAStridedDilatedConvolution) {
  IndexSpace space =
      Checked(Builder({"n", "y", "x", "j", "i", "ci", "co"})
                  .Output({{{"n", 1}}, {{"y", 3}, {"j", 2}}, {{"x", 3}, {"i", 2}}, {{"ci", 1}}},
                          {2, 9, 9, 5})
                  .Input({{{"n", 1}}, {{"y", 1}}, {{"x", 1}}, {{"co", 1}}}, {2, 3, 3, 7})
                  .Input({{{"j", 1}}, {{"i", 1}}, {{"ci", 1}}, {{"co", 1}}}, {2, 2, 5, 7}));
  EXPECT_THAT(Texts(space, space.output_coords),
              ElementsAre("n", "3*y_1 + y_0", "3*x_1 + x_0", "ci"));
  EXPECT_THAT(Indices(space), ElementsAre("n:2", "y_1:3", "y_0:3", "x_1:3", "x_0:3", "ci:5",
                                          "j_0:2", "i_0:2", "co:7"));
  EXPECT_EQ(space.output_index_count, 6);
  EXPECT_THAT(Texts(space, space.original),
              ElementsAre("n", "y_1 - y_0 - 2*j_0 + 2", "x_1 - x_0 - 2*i_0 + 2",
                          "2*y_0 + 3*j_0 - 3", "2*x_0 + 3*i_0 - 3", "ci", "co"));
  EXPECT_THAT(Texts(space, space.constraints),
              ElementsAre("0 <= y_1 - y_0 - 2*j_0 + 2 < 3", "0 <= x_1 - x_0 - 2*i_0 + 2 < 3",
                          "0 <= 2*y_0 + 3*j_0 - 3 < 2", "0 <= 2*x_0 + 3*i_0 - 3 < 2"));
  EXPECT_THAT(space.store_guard, IsEmpty());
  EXPECT_TRUE(space.covers_output);
}

TEST(AnalyzeContraction, GuardsTheStoreWhereDigitsReachBeyondTheDimension) {
  // Gradient of a stride 2 convolution with an input of odd size.
  IndexSpace space = Checked(Builder({"y", "j"})
                                 .Output({{{"y", 2}, {"j", 1}}}, {11})
                                 .Input({{{"y", 1}}}, {5})
                                 .Input({{{"j", 1}}}, {3}));
  EXPECT_THAT(Texts(space, space.output_coords), ElementsAre("2*y_1 + y_0"));
  EXPECT_THAT(Texts(space, space.store_guard), ElementsAre("0 <= 2*y_1 + y_0 < 11"));
  EXPECT_TRUE(space.covers_output);
}

TEST(AnalyzeContraction, KeepsTheIndicesOfAGroupedConvolution) {
  // O[x, 4*g + co] = +(D[x + k, 3*g + ci] * K[k, g, co, ci]), co < 4, ci < 3.
  IndexSpace space =
      Checked(Builder({"x", "g", "co", "k", "ci"})
                  .Output({{{"x", 1}}, {{"g", 4}, {"co", 1}}}, {6, 8})
                  .Input({{{"x", 1}, {"k", 1}}, {{"g", 3}, {"ci", 1}}}, {8, 6})
                  .Input({{{"k", 1}}, {{"g", 1}}, {{"co", 1}}, {{"ci", 1}}}, {3, 2, 4, 3}));
  EXPECT_THAT(Indices(space), ElementsAre("x:6", "g:2", "co:4", "k:3", "ci:3"));
  EXPECT_THAT(Texts(space, space.output_coords), ElementsAre("x", "4*g + co"));
  EXPECT_THAT(space.constraints, IsEmpty());
  EXPECT_THAT(space.store_guard, IsEmpty());
}

TEST(AnalyzeContraction, FlattensThreeDimensionsWithoutReducedIndices) {
  IndexSpace space = Checked(Builder({"a", "b", "c"})
                                 .Output({{{"a", 12}, {"b", 4}, {"c", 1}}}, {24})
                                 .Input({{{"a", 1}}, {{"b", 1}}, {{"c", 1}}}, {2, 3, 4}));
  EXPECT_THAT(Indices(space), ElementsAre("a:2", "b:3", "c:4"));
  EXPECT_EQ(space.output_index_count, 3);
  EXPECT_THAT(space.constraints, IsEmpty());
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, CoversThePaddingOfACopy) {
  IndexSpace space =
      Checked(Builder({"x"}).Output({{{"x", 1}, {"", 2}}}, {9}).Input({{{"x", 1}}}, {5}));
  EXPECT_THAT(Indices(space), ElementsAre("x:9"));
  EXPECT_THAT(Texts(space, space.output_coords), ElementsAre("x"));
  EXPECT_THAT(Texts(space, space.original), ElementsAre("x - 2"));
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= x - 2 < 5"));
  EXPECT_THAT(space.store_guard, IsEmpty());
  EXPECT_TRUE(space.may_be_empty);
}

TEST(AnalyzeContraction, ReversesADimension) {
  IndexSpace space =
      Checked(Builder({"x"}).Output({{{"x", -1}, {"", 4}}}, {5}).Input({{{"x", 1}}}, {5}));
  EXPECT_THAT(Texts(space, space.original), ElementsAre("-x + 4"));
  EXPECT_THAT(space.constraints, IsEmpty());
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, CoversElementsThatAStrideSkips) {
  // The seed's O[2*i] = A[i]: odd elements are 0.
  IndexSpace space = Checked(Builder({"i"}).Output({{{"i", 2}}}, {8}).Input({{{"i", 1}}}, {4}));
  EXPECT_THAT(Texts(space, space.output_coords), ElementsAre("2*i + i_0"));
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= i_0 < 1"));
  EXPECT_TRUE(space.covers_output);
  EXPECT_TRUE(space.may_be_empty);
}

TEST(AnalyzeContraction, SkipsFractionalAccesses) {
  IndexSpace space =
      Checked(Builder({"i"}).Output({{{"i", 1}}}, {8}).Input({{{"i", Rational(1, 2)}}}, {4}));
  EXPECT_TRUE(space.covers_output);
  EXPECT_TRUE(space.may_be_empty);
}

TEST(AnalyzeContraction, CoversAllOfADiagonalMatrix) {
  IndexSpace space =
      Checked(Builder({"i"}).Output({{{"i", 1}}, {{"i", 1}}}, {3, 3}).Input({{{"i", 1}}}, {3}));
  EXPECT_THAT(Indices(space), ElementsAre("i:3", "i_0:3"));
  EXPECT_EQ(space.output_index_count, 2);
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= -i + i_0 < 1"));
}

TEST(AnalyzeContraction, CoversADimensionWrittenAtAConstant) {
  IndexSpace space =
      Checked(Builder({"i"}).Output({{{"", 3}}, {{"i", 1}}}, {5, 2}).Input({{{"i", 1}}}, {2}));
  EXPECT_THAT(Indices(space), ElementsAre("o0_0:5", "i:2"));
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= o0_0 - 3 < 1"));
}

TEST(AnalyzeContraction, SumsToAScalar) {
  IndexSpace space =
      Checked(Builder({"i", "j"}).Output({}, {}).Input({{{"i", 1}}, {{"j", 1}}}, {3, 4}));
  EXPECT_EQ(space.output_index_count, 0);
  EXPECT_THAT(Indices(space), ElementsAre("i:3", "j:4"));
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, LeavesOutIndicesWithOneValue) {
  IndexSpace space = Checked(Builder({"n", "x", "i"})
                                 .Output({{{"n", 1}}, {{"x", 1}}}, {1, 4})
                                 .Input({{{"n", 1}}, {{"x", 1}, {"i", 1}}}, {1, 4})
                                 .Input({{{"i", 1}}}, {1}));
  EXPECT_THAT(Indices(space), ElementsAre("x:4"));
  EXPECT_THAT(Texts(space, space.original), ElementsAre("0", "x", "0"));
}

TEST(AnalyzeContraction, SumsPrefixes) {
  // O[i] = +(I[i - k]), k < N.
  IndexSpace space = Checked(Builder({"i", "k"})
                                 .Output({{{"i", 1}}}, {6})
                                 .Input({{{"i", 1}, {"k", -1}}}, {6})
                                 .Constrain({{"k", 1}}, 6));
  EXPECT_THAT(Indices(space), ElementsAre("i:6", "k:6"));
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= i - k < 6"));
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, BoundsAnIndexThatOnlyDifferencesBound) {
  // Neither x nor y is bounded alone: 0 <= x + y < 4 and 0 <= x - y < 4.
  Builder builder({"x", "y"});
  builder.Output({}, {}).Input({{{"x", 1}, {"y", 1}}, {{"x", 1}, {"y", -1}}}, {4, 4});
  IndexSpace space = Checked(builder);
  EXPECT_THAT(Indices(space), ElementsAre("x_1:2", "x_0:2", "x_0_:2"));
  EXPECT_THAT(space.constraints, IsEmpty());
}

TEST(AnalyzeContraction, FindsPoolingWindowsNeverEmpty) {
  // 3 wide, stride 2, padding 1.
  IndexSpace space = Checked(Builder({"x", "i"})
                                 .Output({{{"x", 1}}}, {56})
                                 .Input({{{"x", 2}, {"i", 1}, {"", -1}}}, {112})
                                 .Constrain({{"i", 1}}, 3));
  EXPECT_THAT(Texts(space, space.constraints), ElementsAre("0 <= 2*x + i - 1 < 112"));
  EXPECT_FALSE(space.may_be_empty);
}

TEST(AnalyzeContraction, FindsPoolingWindowsThatLieInThePadding) {
  IndexSpace space = Checked(Builder({"x", "i"})
                                 .Output({{{"x", 1}}}, {6})
                                 .Input({{{"x", 2}, {"i", 1}, {"", -3}}}, {8})
                                 .Constrain({{"i", 1}}, 2));
  EXPECT_TRUE(space.may_be_empty);
}

TEST(AnalyzeContraction, HasNoPointsForSizesOfZero) {
  for (int64_t n : {0, 3}) {
    IndexSpace space = Checked(Builder({"i"}).Output({{{"i", 1}}}, {n}).Input({{{"i", 1}}}, {0}));
    EXPECT_EQ(space.indices.back().range, 0);
    EXPECT_TRUE(space.may_be_empty);
  }
}

TEST(AnalyzeContraction, HasNoPointsForContradictingConstraints) {
  IndexSpace space = Checked(Builder({"i"})
                                 .Output({{{"i", 1}}}, {9})
                                 .Input({{{"i", 1}}}, {9})
                                 .Constrain({{"i", 1}, {"", -10}}, 5));
  EXPECT_EQ(space.indices.back().range, 0);
  EXPECT_TRUE(space.covers_output);
}

TEST(AnalyzeContraction, NamesTheIndexWithoutBounds) {
  auto space =
      Analyze(Builder({"i", "k"}).Output({{{"i", 1}}}, {4}).Input({{{"i", 1}}}, {4}).problem());
  EXPECT_EQ(space.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(space.status().message(), HasSubstr("index k has no bounds"));
}

TEST(AnalyzeContraction, RefusesArithmeticBeyond64Bits) {
  Builder builder({"i", "j"});
  builder.Output({{{"i", int64_t{1} << 61}, {"j", 1}}}, {int64_t{1} << 62})
      .Input({{{"i", 1}}, {{"j", 1}}}, {2, 2});
  EXPECT_EQ(Analyze(builder.problem()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(AnalyzeContraction, SplitsIndicesByDivisorsThatAreNoChain) {
  // Digits by 2 and by 3 of the same output index.
  IndexSpace space =
      Checked(Builder({"a", "b", "c", "d"})
                  .Output({{{"a", 2}, {"b", 1}}, {{"a", 1}, {"c", 3}, {"d", 1}}}, {12, 11})
                  .Input({{{"b", 1}}, {{"d", 1}}}, {2, 2})
                  .Input({{{"a", 1}}, {{"c", 1}}}, {6, 5}));
  EXPECT_TRUE(space.covers_output);
}

TEST(AnalyzeContraction, KeepsLargeSizesExact) {
  IndexSpace space = Checked(Builder({"i", "k"})
                                 .Output({{{"i", 1}}}, {int64_t{1} << 40})
                                 .Input({{{"i", 1}, {"k", 1}}}, {(int64_t{1} << 40) + 6})
                                 .Constrain({{"k", 1}}, 7));
  EXPECT_THAT(Indices(space), ElementsAre("i:1099511627776", "k:7"));
  EXPECT_THAT(space.constraints, IsEmpty());
}

TEST(IndexSpace, PrintsAsATable) {
  IndexSpace space = Checked(Builder({"x", "i"})
                                 .Output({{{"x", 2}, {"i", 1}}}, {11})
                                 .Input({{{"x", 1}}}, {9})
                                 .Input({{{"i", 1}}}, {3}));
  EXPECT_EQ(ToString(space),
            "output x_1: 6\n"
            "output x_0: 2\n"
            "reduced i_0: 2\n"
            "element: 2*x_1 + x_0\n"
            "point: x_1 - i_0, x_0 + 2*i_0\n"
            "stored where: 0 <= 2*x_1 + x_0 < 11\n"
            "valid where: 0 <= x_1 - i_0 < 6\n"
            "valid where: 0 <= x_0 + 2*i_0 < 3\n");
}

}  // namespace
}  // namespace tartan::poly
