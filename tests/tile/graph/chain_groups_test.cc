// SPDX-License-Identifier: Apache-2.0
// Tests which kernels over the same rows are fused into one launch.
#include "tile/graph/rows/chain_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// For each fused chain: the values that its kernels store, in order, and the ones kept on chip.
struct Chains {
  std::vector<std::vector<std::string>> stored;
  std::vector<std::vector<std::string>> kept;
  std::vector<RowChain> chains;
};

Chains FindChains(const std::string& code, std::vector<TensorShape> inputs,
                  const ChainOptions& options = {}) {
  const ir::Program program = BindTestProgram({"test", code, std::move(inputs)});
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  const ir::Grouping grouping = GroupIntoKernels(program, *spaces);
  std::vector<poly::FlatContraction> flats;
  for (const ir::KernelGroup& group : grouping.groups) {
    const auto flat = poly::BuildKernel(program, *spaces, grouping, group);
    EXPECT_TRUE(flat.ok()) << flat.status();
    flats.push_back(*flat);
  }
  GroupKernels kernels;
  for (const poly::FlatContraction& flat : flats) kernels.push_back(&flat);
  Chains found;
  found.chains = FindRowChains(program, grouping, kernels, options);
  for (const RowChain& chain : found.chains) {
    found.stored.emplace_back();
    found.kept.emplace_back();
    for (int group : chain.groups) {
      found.stored.back().push_back(program.values[grouping.groups[group].outputs[0]].name);
    }
    for (const poly::RowTensor& tensor : chain.tensors) {
      found.kept.back().push_back(program.values[tensor.value].name);
    }
  }
  return found;
}

const char kSoftmax[] =
    "function (X[N, C]) -> (R) { M[n, 0 : N, 1] = >(X[n, c]); E = exp(X - M);"
    " T[n, 0 : N, 1] = +(E[n, c]); R = E / T; }";

TEST(RowChains, AreNoSingleKernels) {
  EXPECT_THAT(
      FindChains("function (X[N, C]) -> (M) { M[n : N] = >(X[n, c]); }", {F32({8, 16})}).stored,
      IsEmpty());
}

TEST(RowChains, HaveTheKernelsOfASoftmaxAndKeepWhatOnlyTheyRead) {
  const Chains softmax = FindChains(kSoftmax, {F32({8, 16})});
  EXPECT_THAT(softmax.stored, ElementsAre(ElementsAre("M", "T", "R")));
  EXPECT_THAT(softmax.kept, ElementsAre(ElementsAre("M", "T")));
  ASSERT_EQ(softmax.chains.size(), 1u);
  EXPECT_THAT(softmax.chains[0].rows, ElementsAre(8));
}

TEST(RowChains, StoreWhatIsAnOutputOfTheProgram) {
  const Chains chains =
      FindChains("function (X[N, C]) -> (M, R) { M[n, 0 : N, 1] = >(X[n, c]); R = exp(X - M); }",
                 {F32({8, 16})});
  EXPECT_THAT(chains.stored, ElementsAre(ElementsAre("M", "R")));
  EXPECT_THAT(chains.kept, ElementsAre(IsEmpty()));
}

TEST(RowChains, HaveNoKernelThatReadsOtherRows) {
  // R reads the maximum of the previous row.
  const Chains chains = FindChains(
      "function (X[N, C]) -> (R) { M[n : N] = >(X[n, c]);"
      " R[n, c : N, C] = +(X[n, c] * M[n - 1]); }",
      {F32({8, 16})});
  EXPECT_THAT(chains.stored, IsEmpty());
}

TEST(RowChains, HaveNoProductsOfMatrices) {
  const Chains chains = FindChains(
      "function (X[N, C], W[C, K]) -> (R) { M[n, 0 : N, 1] = >(X[n, c]); Y = X - M;"
      " R[n, k : N, K] = +(Y[n, c] * W[c, k]); }",
      {F32({8, 16}), F32({16, 32})});
  for (const std::vector<std::string>& chain : chains.stored) {
    EXPECT_THAT(chain, testing::Not(testing::Contains("R")));
  }
}

TEST(RowChains, GoNotAroundAKernelThatWaitsForThem) {
  // S sums over columns and R needs S, so R cannot be in the launch that computes M.
  const Chains chains = FindChains(
      "function (X[N, C]) -> (R) { M[n, 0 : N, 1] = >(X[n, c]); E = exp(X - M);"
      " S[0, c : 1, C] = +(E[n, c]); R = M + S; }",
      {F32({8, 16})});
  for (const std::vector<std::string>& chain : chains.stored) {
    EXPECT_FALSE(std::find(chain.begin(), chain.end(), "M") != chain.end() &&
                 std::find(chain.begin(), chain.end(), "R") != chain.end());
  }
}

TEST(RowChains, HaveRowsThatFitTheirMemory) {
  ChainOptions options;
  options.row_bytes = 64;  // room for one row of X only
  EXPECT_THAT(FindChains(kSoftmax, {F32({8, 16})}, options).stored, IsEmpty());
}

TEST(RowChains, KeepNoMoreThanFits) {
  ChainOptions options;
  options.local_bytes = 4;
  EXPECT_THAT(FindChains(kSoftmax, {F32({8, 16})}, options).kept, ElementsAre(ElementsAre("M")));
}

TEST(RowChains, LeaveMuchWorkOfFewRowsToAllCores) {
  ChainOptions options;
  options.cores = 4;
  EXPECT_THAT(FindChains(kSoftmax, {F32({2, 32768})}, options).stored, IsEmpty());
  EXPECT_THAT(FindChains(kSoftmax, {F32({4, 32768})}, options).stored,
              ElementsAre(ElementsAre("M", "T", "R")));
}

TEST(RowChains, MayHaveFewRowsOfLittleWork) {
  ChainOptions options;
  options.cores = 64;
  options.row_points = 1 << 13;
  EXPECT_THAT(FindChains(kSoftmax, {F32({12, 2000})}, options).stored,
              ElementsAre(ElementsAre("M", "T", "R")));
  EXPECT_THAT(FindChains(kSoftmax, {F32({12, 8000})}, options).stored, IsEmpty());
}

// Attention weights of one query, times the values of each head.
const char kAttention[] =
    "function (X[N, C], V[N, C, D]) -> (O) { M[n, 0 : N, 1] = >(X[n, c]); E = exp(X - M);"
    " T[n, 0 : N, 1] = +(E[n, c]); R = E / T; O[n, d : N, D] = +(R[n, c] * V[n, c, d]); }";

TEST(RowChains, EndBeforeAProductThatMakesThemTooMuchWork) {
  ChainOptions options;
  options.cores = 16;
  EXPECT_THAT(FindChains(kAttention, {F32({12, 512}), F32({12, 512, 64})}, options).stored,
              ElementsAre(ElementsAre("M", "T", "R")));
  options.cores = 12;
  EXPECT_THAT(FindChains(kAttention, {F32({12, 512}), F32({12, 512, 64})}, options).stored,
              ElementsAre(ElementsAre("M", "T", "R", "O")));
}

TEST(RowChains, HaveNoReductionsOfSeveralResultsForARowWhereThatIsAskedFor) {
  ChainOptions options;
  options.single_results = true;
  EXPECT_THAT(FindChains(kAttention, {F32({12, 64}), F32({12, 64, 4})}, options).stored,
              ElementsAre(ElementsAre("M", "T", "R")));
}

// A pool and a windowed sum of its result. A row is the plane of one batch element and channel.
const char kPools[] =
    "function (X[N, C, H, W]) -> (R) {"
    " M[n, c, y, x : N, C, H / 2, W / 2] = >(X[n, c, 2*y + r, 2*x + s]), r < 2, s < 2;"
    " R[n, c, y, x : N, C, H / 2, W / 2] = +(M[n, c, y + r - 1, x + s - 1]), r < 3, s < 3; }";

TEST(RowChains, HavePlanesOverWhichWindowsSlide) {
  ChainOptions options;
  options.planes = true;
  const Chains chains = FindChains(kPools, {F32({2, 3, 8, 8})}, options);
  EXPECT_THAT(chains.stored, ElementsAre(ElementsAre("M", "R")));
  ASSERT_EQ(chains.chains.size(), 1u);
  EXPECT_THAT(chains.chains[0].rows, ElementsAre(2, 3));
  // The first element's window begins one row and one element before the plane.
  ASSERT_EQ(chains.chains[0].tensors.size(), 1u);
  EXPECT_EQ(chains.chains[0].tensors[0].before, 5);
  EXPECT_EQ(chains.chains[0].tensors[0].after, 5);
}

TEST(RowChains, HaveNoPlanesUnasked) {
  EXPECT_THAT(FindChains(kPools, {F32({2, 3, 8, 8})}).stored, IsEmpty());
}

TEST(RowChains, HaveNoConvolutionsOverPlanes) {
  ChainOptions options;
  options.planes = true;
  const Chains chains = FindChains(
      "function (X[N, C, H, W], K[C, R, S]) -> (O) {"
      " M[n, c, y, x : N, C, H / 2, W / 2] = >(X[n, c, 2*y + r, 2*x + s]), r < 2, s < 2;"
      " O[n, c, y, x : N, C, H / 2, W / 2] = +(M[n, c, y + r - 1, x + s - 1] * K[c, r, s]); }",
      {F32({2, 3, 8, 8}), F32({3, 3, 3})}, options);
  EXPECT_THAT(chains.stored, IsEmpty());
}

ChainOptions WithProducts() {
  ChainOptions options;
  options.single_results = true;
  options.accepts_matmuls = [](const RowChain&, const RowChain* without) {
    return without == nullptr || !without->has_matmuls;
  };
  return options;
}

TEST(RowChains, DivideHeadsThatAreGroupsInProducts) {
  const Chains found = FindChains(
      "function (Q[G, R, T, D], K[G, U, D]) -> (W) { "
      "P[g, r, t, u : G, R, T, U] = +(Q[g, r, t, d] * K[g, u, d]); L = reshape(P, G * R, T, U); "
      "M[h, t, 0 : G * R, T, 1] = >(L[h, t, u]); E = exp(L - M); "
      "S[h, t, 0 : G * R, T, 1] = +(E[h, t, u]); W = E / S; }",
      {F32({3, 2, 5, 8}), F32({3, 7, 8})}, WithProducts());
  ASSERT_EQ(found.chains.size(), 1u);
  EXPECT_THAT(found.chains[0].rows, ElementsAre(3, 2, 5));
  EXPECT_THAT(found.kept, ElementsAre(ElementsAre("P", "M", "S")));
}

const char kGate[] =
    "function (X[T, C], F[C, N], H[C, N]) -> (Y) { A[t, n : T, N] = +(X[t, c] * F[c, n]); "
    "B[t, n : T, N] = +(X[t, c] * H[c, n]); Y = A * B; }";

TEST(RowChains, HaveBlocksOfTheColumnsOfAProductThatReadsAnother) {
  const Chains found =
      FindChains(kGate, {F32({5, 6}), F32({6, 128}), F32({6, 128})}, WithProducts());
  ASSERT_EQ(found.chains.size(), 1u);
  EXPECT_THAT(found.chains[0].rows, ElementsAre(2, 5));
  EXPECT_EQ(found.kept[0].size(), 1u);
}

TEST(RowChains, LeaveColumnsApartThatNoBlockDivides) {
  EXPECT_THAT(FindChains(kGate, {F32({5, 6}), F32({6, 127}), F32({6, 127})}, WithProducts()).stored,
              IsEmpty());
}

TEST(RowChains, LeaveAProductApartThatReadsAnotherElsewhere) {
  EXPECT_THAT(FindChains("function (X[T, C], F[C, N], H[C, N]) -> (Y) { "
                         "A[t, n : T, N] = +(X[t, c] * F[c, n]); "
                         "B[t, n : T, N] = +(X[t, c] * H[c, n]); "
                         "Z[t, n : T, N] = =(A[T - 1 - t, n]); Y = Z * B; }",
                         {F32({5, 6}), F32({6, 64}), F32({6, 64})}, WithProducts())
                  .stored,
              IsEmpty());
}

}  // namespace
}  // namespace tartan::graph
