// SPDX-License-Identifier: Apache-2.0
// Tests low-precision weights: which are decoded by the kernel that reads them, and which at load.
#include "tile/graph/grouping/small_weights.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/graph/constants.h"
#include "tile/graph/grouping/group.h"

namespace tartan::graph::small_weights_test {
namespace {

// Weights with one scale per block of 16 along the reduced dimension.
const char kBlocks[] =
    "function (A[M, K], Q[B, L, N], S[B, N]) -> (C) {"
    " R[n, b, l : N, B, L] = =(Q[b, l, n]); T[b, l, n : B, L, N] = =(R[n, b, l]);"
    " W = as_float(T, 32) * reshape(S, B, 1, N);"
    " C[i, n : M, N] = +(A[i, 16 * b + l] * W[b, l, n]); }";

ir::Program BlocksOf(int64_t rows, DataType stored, int64_t columns = 512) {
  ir::Program program = BindTestProgram({"test",
                                         kBlocks,
                                         {{DataType::kFloat32, {rows, 256}},
                                          {stored, {16, 16, columns}},
                                          {DataType::kFloat32, {16, columns}}}});
  for (int i : {1, 2}) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  return program;
}

bool IsInMemory(const ir::Program& program, const std::string& name) {
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  const ir::Grouping grouping = GroupIntoKernels(program, *spaces);
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].name == name) return grouping.in_memory[v];
  }
  ADD_FAILURE() << "no value " << name;
  return false;
}

TEST(SmallWeights, AreDecodedInProductsOfUpTo16Rows) {
  for (const int64_t rows : {1, 4, 16}) {
    EXPECT_FALSE(IsInMemory(BlocksOf(rows, DataType::kInt8), "W")) << rows;
  }
  EXPECT_TRUE(IsInMemory(BlocksOf(17, DataType::kInt8), "W"));
}

TEST(SmallWeights, AreCopiedInTheOrderThatIsAskedFor) {
  EXPECT_TRUE(IsInMemory(BlocksOf(1, DataType::kInt8), "T"));
}

bool IsDecoded(const ir::Program& program, const std::string& name, bool for_many_rows = false) {
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  std::vector<Kind> kinds;
  for (size_t v = 0; v < program.values.size(); ++v) {
    kinds.push_back(KindOf(program.values[v], (*spaces)[v]));
  }
  const SmallWeights weights =
      FindSmallWeights(program, *spaces, kinds, FindConstants(program), for_many_rows);
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].name == name) return weights.decoded[v];
  }
  ADD_FAILURE() << "no value " << name;
  return false;
}

TEST(SmallWeights, AreNotThoseThatAreHardlySmaller) {
  EXPECT_TRUE(IsDecoded(BlocksOf(1, DataType::kInt8), "W"));
  EXPECT_TRUE(IsDecoded(BlocksOf(1, DataType::kInt16, 1024), "W"));
  EXPECT_FALSE(IsDecoded(BlocksOf(1, DataType::kInt32), "W"));
  EXPECT_FALSE(IsDecoded(BlocksOf(1, DataType::kInt8, 64), "W"));  // too little memory to save
}

// Weights with eight 4-bit values per 32-bit word, and a scale for each block of two words.
ir::Program WordsOf(int64_t rows) {
  ir::Program program = BindTestProgram(
      {"test",
       "function (A[M, K], Q[B, L, N], S[B, N], P[PARTS]) -> (C) {"
       " I = ((reshape(Q, B, L, 1, N) >> (reshape(index(P, 0), PARTS, 1) * 4)) << 28) >> 28;"
       " W = as_float(I, 32) * reshape(S, B, 1, 1, N);"
       " C[i, n : M, N] = +(A[i, 16 * b + 8 * l + p] * W[b, l, p, n]); }",
       {{DataType::kFloat32, {rows, 256}},
        {DataType::kInt32, {16, 2, 512}},
        {DataType::kFloat32, {16, 512}},
        {DataType::kInt32, {8}}}});
  for (int i : {1, 2, 3}) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  return program;
}

TEST(SmallWeights, OfLessThanAByteAreDecodedForAnyNumberOfRowsWhereThatIsAllowed) {
  EXPECT_TRUE(IsDecoded(WordsOf(16), "W"));
  EXPECT_FALSE(IsDecoded(WordsOf(17), "W"));
  for (const int64_t rows : {17, 500}) {
    EXPECT_TRUE(IsDecoded(WordsOf(rows), "W", /*for_many_rows=*/true)) << rows;
    EXPECT_FALSE(IsDecoded(BlocksOf(rows, DataType::kInt8), "W", /*for_many_rows=*/true)) << rows;
  }
}

TEST(SmallWeights, AreNotThoseThatChangeFromRunToRun) {
  ir::Program program = BlocksOf(1, DataType::kInt8);
  std::get<ir::Input>(program.values[program.inputs[1]].op).is_constant = false;
  EXPECT_FALSE(IsDecoded(program, "W"));
}

}  // namespace
}  // namespace tartan::graph::small_weights_test
