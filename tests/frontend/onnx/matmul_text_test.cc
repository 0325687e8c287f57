// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/matmul_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::onnx::matmul_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MatMulStatement, WritesAPlainProduct) {
  const auto text = MatMulStatement("C", "A", {2, 3}, "B", {3, 4});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->statement, "C[i, j : 2, 4] = +(A[i, k] * B[k, j])");
  EXPECT_THAT(text->dims, ElementsAre(2, 4));
}

TEST(MatMulStatement, ReadsASizeOfOneThatBroadcastsAtZero) {
  const auto text = MatMulStatement("C", "A", {1, 7, 2, 3}, "B", {5, 1, 3, 4});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->statement, "C[b0, b1, i, j : 5, 7, 2, 4] = +(A[0, b1, i, k] * B[b0, 0, k, j])");
}

TEST(MatMulStatement, ExchangesTheIndicesOfATransposedFactor) {
  const auto text = MatMulStatement("C", "A", {3, 2}, "B", {4, 3}, true, true);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->statement, "C[i, j : 2, 4] = +(A[k, i] * B[j, k])");
}

TEST(MatMulStatement, NamesSizesThatDoNotFit) {
  EXPECT_THAT(std::string(MatMulStatement("C", "A", {2, 3}, "B", {2, 3}).status().message()),
              HasSubstr("cannot multiply [2, 3] by [2, 3]: 3 is not 2"));
}

}  // namespace
}  // namespace tartan::onnx::matmul_text_test
