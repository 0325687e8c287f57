// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/correlation.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/graph/grouping/group.h"
#include "tile/poly/build_kernel.h"

namespace tartan::poly {
namespace {

// Returns the first kernel of a program with two float32 inputs.
FlatContraction KernelOf(const std::string& code, std::vector<int64_t> data,
                         std::vector<int64_t> weights, DataType type = DataType::kFloat32) {
  const ir::Program program =
      BindTestProgram({"test", code, {{type, std::move(data)}, {type, std::move(weights)}}});
  const ProgramSpaces spaces = AnalyzeProgram(program).value();
  const ir::Grouping grouping = graph::GroupIntoKernels(program, spaces);
  return BuildKernel(program, spaces, grouping, grouping.groups[0]).value();
}

std::string Name(const FlatContraction& flat, int index) { return flat.indices[index].name; }

TEST(MatchCorrelation, FindsAPaddedConvolutionWithChannelsFirst) {
  const FlatContraction flat = KernelOf(
      "function (D[N, C, Y, X], W[K, C, I, J]) -> (O) { O[n, k, y, x : N, K, Y, X] = "
      "+(D[n, c, y + i - 1, x + j - 2] * W[k, c, i, j]); }",
      {2, 5, 7, 8}, {4, 5, 3, 3});
  const auto found = MatchCorrelation(flat, 3);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Name(flat, found->channel), "c");
  EXPECT_EQ(Name(flat, found->feature), "k");
  ASSERT_EQ(found->batch.size(), 1u);
  EXPECT_EQ(Name(flat, found->batch[0]), "n");
  EXPECT_EQ(Name(flat, found->directions[0].position), "y");
  EXPECT_EQ(Name(flat, found->directions[1].position), "x");
  EXPECT_EQ(found->directions[0].first, -1);
  EXPECT_EQ(found->directions[1].first, -2);
  EXPECT_EQ(found->directions[0].begin, 0);
  EXPECT_EQ(found->directions[0].end, 7);
  EXPECT_EQ(found->directions[1].end, 8);
  EXPECT_FALSE(found->directions[0].reversed);
}

TEST(MatchCorrelation, FindsOneWithTheFactorsTheOtherWayRoundAndChannelsLast) {
  const FlatContraction flat = KernelOf(
      "function (D[Y, X, C], W[I, J, C, K]) -> (O) { O[y, x, k : Y - 2, X - 2, K] = "
      "+(W[i, j, c, k] * D[y + i, x + j, c]); }",
      {7, 8, 5}, {3, 3, 5, 4});
  const auto found = MatchCorrelation(flat, 3);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->batch.empty());
  EXPECT_EQ(found->directions[0].first, 0);
}

TEST(MatchCorrelation, FindsTheGradientOfAConvolutionByItsData) {
  const FlatContraction flat = KernelOf(
      "function (D[N, K, Y, X], W[K, C, I, J]) -> (O) { O[n, c, y - 1 + i, x - 1 + j : N, C, Y, X]"
      " = +(D[n, k, y, x] * W[k, c, i, j]); }",
      {2, 5, 7, 8}, {5, 4, 3, 3});
  const auto found = MatchCorrelation(flat, 3);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->directions[0].reversed);
  EXPECT_TRUE(found->directions[1].reversed);
  // Index 0 of the reversed window reads this element.
  EXPECT_EQ(found->directions[0].first, -1);
}

TEST(MatchCorrelation, LeavesOtherContractionsAlone) {
  const std::vector<int64_t> data = {2, 6, 7, 8};
  const std::vector<int64_t> weights = {6, 6, 3, 3};
  const auto matches = [&](const std::string& body, const std::vector<int64_t>& w,
                           DataType type = DataType::kFloat32) {
    return MatchCorrelation(
               KernelOf("function (D[N, C, Y, X], W) -> (O) { " + body + " }", data, w, type), 3)
        .has_value();
  };
  EXPECT_TRUE(
      matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+i-1, x+j-1] * W[k, c, i, j]);", weights));
  // Rejects strides, dilation, larger windows, groups, depthwise windows, and another aggregation,
  // combination, type or constraint.
  EXPECT_FALSE(matches("O[n, k, y, x : N, 6, 4, 4] = +(D[n, c, 2*y+i-1, 2*x+j-1] * W[k, c, i, j]);",
                       weights));
  EXPECT_FALSE(matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+2*i-2, x+2*j-2] * W[k, c, i, j]);",
                       weights));
  EXPECT_FALSE(matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+i-2, x+j-2] * W[k, c, i, j]);",
                       {6, 6, 5, 5}));
  EXPECT_FALSE(matches(
      "O[n, 3*g+k, y, x : N, 6, Y, X] = +(D[n, 3*g+c, y+i-1, x+j-1] * W[3*g+k, c, i, j]), k < 3;",
      {6, 3, 3, 3}));
  EXPECT_FALSE(
      matches("O[n, c, y, x : N, C, Y, X] = +(D[n, c, y+i-1, x+j-1] * W[c, i, j]);", {6, 3, 3}));
  EXPECT_FALSE(
      matches("O[n, k, y, x : N, 6, Y, X] = >(D[n, c, y+i-1, x+j-1] * W[k, c, i, j]);", weights));
  EXPECT_FALSE(
      matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+i-1, x+j-1] + W[k, c, i, j]);", weights));
  EXPECT_FALSE(matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+i-1, x+j-1] * W[k, c, i, j]);",
                       weights, DataType::kFloat64));
  EXPECT_FALSE(
      matches("O[n, k, y, x : N, 6, Y, X] = +(D[n, c, y+i-1, x+j-1] * W[k, c, i, j]), i + j < 3;",
              weights));
}

}  // namespace
}  // namespace tartan::poly
