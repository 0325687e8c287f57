// SPDX-License-Identifier: Apache-2.0
// Tests which fused rows permit online softmax over blocks, and the resulting kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/online/online_softmax.h"

namespace tartan::poly {
namespace {

using ::testing::ElementsAre;

// Returns the only fused chain of a program, including matmuls.
graph::RowChain ChainOf(const TestProgram& test) {
  const ir::Program program = BindTestProgram(test);
  const auto spaces = AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  const ir::Grouping grouping = graph::GroupIntoKernels(program, *spaces);
  std::vector<FlatContraction> flats;
  for (const ir::KernelGroup& group : grouping.groups) {
    const auto flat = BuildKernel(program, *spaces, grouping, group);
    EXPECT_TRUE(flat.ok()) << flat.status();
    flats.push_back(*flat);
  }
  graph::GroupKernels kernels;
  for (const FlatContraction& flat : flats) kernels.push_back(&flat);
  graph::ChainOptions options;
  options.single_results = true;
  options.accepts_matmuls = [](const graph::RowChain&, const graph::RowChain*) { return true; };
  const std::vector<graph::RowChain> chains =
      graph::FindRowChains(program, grouping, kernels, options);
  EXPECT_EQ(chains.size(), 1u);
  return chains.empty() ? graph::RowChain{} : chains[0];
}

std::optional<OnlineSoftmax> Find(const graph::RowChain& chain) {
  return FindOnlineSoftmax(chain.kernels, chain.tensors);
}

// Attention with 3 heads, 5 queries and 70 keys.
TestProgram Attention(const std::string& softmax, const std::string& after = "") {
  return {"test",
          "function (Q[H, T, D], K[H, U, D], V[H, U, D], G[H, T, U]) -> (R) { "
          "A = Q * 2; P[h, t, u : H, T, U] = +(A[h, t, d] * K[h, u, d]); "
          "M[h, t, 0 : H, T, 1] = >(P[h, t, u]); " +
              softmax + "O[h, t, d : H, T, D] = +(W[h, t, u] * V[h, u, d]); " +
              (after.empty() ? "R = O; " : after) + "}",
          {F32({3, 5, 8}), F32({3, 70, 8}), F32({3, 70, 8}), F32({3, 5, 70})}};
}

constexpr char kSoftmax[] = "E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); W = E / S; ";

TEST(OnlineSoftmax, HaveRolesByWhatTheyRead) {
  const auto online = Find(ChainOf(Attention(kSoftmax,
                                             "B[h, t, 0 : H, T, 1] = +(O[h, t, d]); "
                                             "R = O - B; ")));
  ASSERT_TRUE(online.has_value());
  EXPECT_EQ(online->keys, 70);
  EXPECT_THAT(online->roles,
              ElementsAre(OnlineRole::kBefore, OnlineRole::kElements, OnlineRole::kMaximum,
                          OnlineRole::kSum, OnlineRole::kElements, OnlineRole::kSum,
                          OnlineRole::kAfter, OnlineRole::kAfter));
}

// A divisor of the weights divides the sum of the values instead.
TEST(OnlineSoftmax, DivideSumsInsteadOfElements) {
  const auto online = Find(ChainOf(Attention(kSoftmax)));
  ASSERT_TRUE(online.has_value());
  const FlatContraction& weights = online->kernels[4].flat;
  EXPECT_EQ(std::get<Apply>(weights.outputs[0].expr->node).op, ScalarOp::kExp);
  const FlatContraction& values = online->kernels[5].flat;
  const auto& result = std::get<Apply>(values.outputs[0].expr->node);
  EXPECT_EQ(result.op, ScalarOp::kDiv);
  EXPECT_TRUE(std::holds_alternative<Accumulator>(result.operands[0]->node));
  const int divisor = values.accesses[std::get<Read>(result.operands[1]->node).access].tensor;
  EXPECT_EQ(online->kernels[5].tensors[divisor], online->kernels[3].output);
}

TEST(OnlineSoftmax, MayMultiplyByInverseSumsAndMasks) {
  EXPECT_TRUE(
      Find(ChainOf(Attention("E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); "
                             "I = 1 / S; W = E * I * G; "))));
  EXPECT_TRUE(
      Find(ChainOf(Attention("E = exp(P - M) * G; S[h, t, 0 : H, T, 1] = +(E[h, t, u]); "
                             "W = E / S; "))));
}

TEST(OnlineSoftmax, AreNoOthers) {
  const std::string sum = "S[h, t, 0 : H, T, 1] = +(E[h, t, u]); ";
  for (const std::string& softmax : std::vector<std::string>{
           "E = exp(P - 2 * M); " + sum + "W = E / S; ", "E = exp(M - P); " + sum + "W = E / S; ",
           "E = exp(P - M - M); " + sum + "W = E / S; ", "E = exp(G - M); " + sum + "W = E / S; ",
           "E = exp(P - M); " + sum + "W = E / S / S; ",
           "E = exp(P - M); " + sum + "W = E / (S + M); ",
           "E = exp(P - M); " + sum + "W = E * E / S; ",
           "E = exp(P - M); " + sum + "W = (E + G) / S; ",
           "E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u] * E[h, t, u]); W = E / S; "}) {
    EXPECT_FALSE(Find(ChainOf(Attention(softmax)))) << softmax;
  }
  EXPECT_FALSE(Find(ChainOf(Attention(kSoftmax, "R = O + M; "))));
}

// Softmax without a following matmul stores each element, which requires the whole row.
TEST(OnlineSoftmax, HaveSumsOfColumns) {
  graph::RowChain chain = ChainOf(Attention(kSoftmax));
  while (!HasColumns(chain.kernels.back())) chain.kernels.pop_back();
  chain.kernels.pop_back();
  EXPECT_FALSE(Find(chain));
}

TEST(OnlineSoftmax, AreCutIntoBlocksAndARest) {
  const auto online = Find(ChainOf(Attention(kSoftmax)));
  ASSERT_TRUE(online.has_value());
  for (const bool is_rest : {false, true}) {
    const KeyBlocks blocks = CutKeys(*online, 32, is_rest);
    for (size_t k = 0; k < blocks.kernels.size(); ++k) {
      const RowKernel& kernel = blocks.kernels[k];
      if (online->key_index[k] < 0) continue;
      ASSERT_EQ(kernel.axes.size(), online->kernels[k].axes.size() + 1);
      EXPECT_EQ(kernel.flat.indices[kernel.axes.back()].range, is_rest ? 3 : 2);
      EXPECT_EQ(
          kernel.flat
              .indices[online->key_index[k] + (online->roles[k] == OnlineRole::kElements ? 0 : 1)]
              .range,
          is_rest ? 6 : 32);
    }
    // The scores are stored for one block only.
    EXPECT_EQ(blocks.tensors[online->kernels[1].output].dims.back(), 36);
    EXPECT_EQ(online->tensors[online->kernels[1].output].dims.back(), 70);
  }
}

}  // namespace
}  // namespace tartan::poly
