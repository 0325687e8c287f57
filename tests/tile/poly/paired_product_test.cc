#include "tile/poly/paired_product.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/graph/group.h"
#include "tile/graph/integer_factors.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/value_range.h"

namespace tartan::poly {
namespace {

// The last kernel of a program, with what lies between it and narrow integers computed in it.
FlatContraction KernelOf(const std::string& code, std::vector<TensorShape> inputs) {
  const ir::Program program = BindTestProgram({"test", code, std::move(inputs)});
  const ProgramSpaces spaces = AnalyzeProgram(program).value();
  graph::GroupOptions options;
  for (const auto& [root, factors] : graph::FindIntegerFactors(program, spaces)) {
    options.inlined.insert(options.inlined.end(), factors.begin(), factors.end());
  }
  const ir::Grouping grouping = graph::GroupIntoKernels(program, spaces, options);
  return BuildKernel(program, spaces, grouping, grouping.groups.back()).value();
}

// int32 products of two tensors of `type`.
FlatContraction Product(DataType type, const std::string& statement, std::vector<int64_t> a,
                        std::vector<int64_t> b) {
  return KernelOf(
      "function (A, B) -> (O) { X = as_int(A, 32); Y = as_int(B, 32); " + statement + " }",
      {{type, std::move(a)}, {type, std::move(b)}});
}

std::vector<int64_t> Ranges(const FlatContraction& flat) {
  std::vector<int64_t> ranges;
  for (const Index& index : flat.indices) ranges.push_back(index.range);
  return ranges;
}

TEST(PairProducts, HalvesTheReducedIndexOfAProductOfMatrices) {
  const FlatContraction flat =
      Product(DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);", {5, 7}, {7, 9});
  const auto paired = PairProducts(flat);
  ASSERT_TRUE(paired.has_value());
  EXPECT_EQ(Ranges(paired->products), (std::vector<int64_t>{5, 9, 4}));
  EXPECT_EQ(paired->left.outputs[0].shape, (TensorShape{DataType::kInt32, {5, 4}}));
  EXPECT_EQ(paired->right.outputs[0].shape, (TensorShape{DataType::kInt32, {4, 9}}));
  EXPECT_EQ(paired->products.tensors.size(), 2u);
  EXPECT_EQ(std::get<Apply>(paired->products.body->node).op, ScalarOp::kDot16);
}

TEST(PairProducts, MakesTensorsWithZerosAroundThemForPaddedConvolutions) {
  const FlatContraction flat = KernelOf(
      "function (A[C, H], B[K, C, I]) -> (O) { X = as_int(A, 32); P[c, y + 1 : C, H + 2] = =(X[c, "
      "y]); Y = as_int(B, 32); O[k, y : K, H] = +(P[c, y + i] * Y[k, c, i]); }",
      {{DataType::kUInt8, {6, 11}}, {DataType::kInt8, {4, 6, 3}}});
  const auto paired = PairProducts(flat);
  ASSERT_TRUE(paired.has_value());
  EXPECT_EQ(paired->left.outputs[0].shape, (TensorShape{DataType::kInt32, {3, 13}}));
  EXPECT_TRUE(paired->products.constraints.empty());
}

TEST(PairProducts, KeepsConditionsOfOtherIndices) {
  const FlatContraction flat = Product(
      DataType::kInt8, "O[k, y : 4, 11] = +(X[c, y + i - 1] * Y[k, c, i]);", {6, 11}, {4, 6, 3});
  ASSERT_FALSE(flat.constraints.empty());
  const auto paired = PairProducts(flat);
  ASSERT_TRUE(paired.has_value());
  EXPECT_EQ(paired->left.outputs[0].shape, (TensorShape{DataType::kInt32, {3, 11}}));
  EXPECT_EQ(paired->products.constraints.size(), flat.constraints.size());
}

TEST(PairProducts, LeavesWideAndOtherSumsAlone) {
  const std::string matmul = "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);";
  EXPECT_TRUE(PairProducts(Product(DataType::kInt16, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(PairProducts(Product(DataType::kUInt16, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(PairProducts(Product(DataType::kInt32, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(PairProducts(
      Product(DataType::kInt8, "O[i, j : 5, 9] = >(X[i, k] * Y[k, j]);", {5, 7}, {7, 9})));
  EXPECT_FALSE(PairProducts(
      KernelOf("function (A[M, L], B[L, N]) -> (O) { O[i, j : M, N] = +(A[i, k] * B[k, j]); }",
               {{DataType::kFloat32, {5, 7}}, {DataType::kFloat32, {7, 9}}})));
}

TEST(PairProducts, NeedsAReducedIndexThatBothFactorsHaveToItself) {
  // A sliding window alone: every reduced index shares its coordinate with an output's.
  EXPECT_FALSE(PairProducts(
      Product(DataType::kInt8, "O[c, y : 6, 9] = +(X[c, y + i] * Y[c, i]);", {6, 11}, {6, 3})));
  // The diagonal: the index is in two coordinates.
  EXPECT_FALSE(
      PairProducts(Product(DataType::kInt8, "O[j : 9] = +(X[k, k] * Y[k, j]);", {7, 7}, {7, 9})));
  // Only sums of neighbours count, which a condition says.
  EXPECT_FALSE(PairProducts(Product(
      DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]), i + k < 6;", {5, 7}, {7, 9})));
}

TEST(ValueRange, FollowsConversionsAndArithmetic) {
  const auto range = [](const std::string& expression) {
    const FlatContraction flat = KernelOf("function (A, B) -> (O) { O = " + expression + "; }",
                                          {{DataType::kInt8, {4}}, {DataType::kUInt8, {4}}});
    return ValueRange(flat, flat.outputs[0].expr);
  };
  EXPECT_EQ(range("as_int(A, 32)"), (math::Interval{-128, 127}));
  EXPECT_EQ(range("as_int(A, 32) - as_int(B, 32)"), (math::Interval{-383, 127}));
  EXPECT_EQ(range("as_int(A, 32) * as_int(B, 32)"), (math::Interval{-32640, 32385}));
  EXPECT_EQ(range("max(as_int(A, 32), 3)"), (math::Interval{3, 127}));
  EXPECT_EQ(range("(as_int(B, 32) > 3 ? 7 : as_int(A, 32))"), (math::Interval{-128, 127}));
  EXPECT_EQ(range("A + A"), (math::Interval{-128, 127}));  // wraps in its type
  EXPECT_EQ(range("as_int(A, 32) << 3"), std::nullopt);
  EXPECT_EQ(range("as_float(A, 32)"), std::nullopt);
}

}  // namespace
}  // namespace tartan::poly
