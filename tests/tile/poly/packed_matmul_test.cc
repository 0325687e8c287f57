// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/packed_matmul.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tile/graph/grouping/group.h"
#include "tile/graph/integer_factors.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/integer_range.h"

namespace tartan::poly {
namespace {

// Returns the last kernel of a program; it includes the operations between narrow integers and the
// matmul.
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

// Returns an int32 matmul of two tensors of `type`.
FlatContraction Product(DataType type, const std::string& statement, std::vector<int64_t> a,
                        std::vector<int64_t> b) {
  return KernelOf(
      "function (A, B) -> (O) { X = as_int(A, 32); Y = as_int(B, 32); " + statement + " }",
      {{type, std::move(a)}, {type, std::move(b)}});
}

std::optional<PackedMatmul> Pairs(const FlatContraction& flat) {
  return PackMatmul(flat, PackedForm::kPairs);
}

std::vector<int64_t> Ranges(const FlatContraction& flat) {
  std::vector<int64_t> ranges;
  for (const Index& index : flat.indices) ranges.push_back(index.range);
  return ranges;
}

TEST(PackMatmul, HalvesTheReducedIndexOfAProductOfMatrices) {
  const FlatContraction flat =
      Product(DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);", {5, 7}, {7, 9});
  const auto packed = Pairs(flat);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Ranges(packed->products), (std::vector<int64_t>{5, 9, 4}));
  EXPECT_EQ(packed->operands[0].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {5, 4}}));
  EXPECT_EQ(packed->operands[1].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {4, 9}}));
  EXPECT_EQ(packed->products.tensors.size(), 2u);
  EXPECT_EQ(std::get<Apply>(packed->products.body->node).op, ScalarOp::kDot16);
}

// Queries and keys are parts of one tensor, with heads of six elements.
TEST(PackMatmul, PacksHeadsThatSharePartsOfARow) {
  const std::string parts =
      "function (A) -> (O) { X = as_int(A, 32); Q[i, h, k : 5, 3, 6] = =(X[i, 6 * h + k]);"
      " K[i, h, k : 5, 3, 6] = =(X[i, 6 * h + k + ";
  const std::string product = "]); O[h, i, j : 3, 5, 5] = +(Q[i, h, k] * K[j, h, k]); }";
  const auto packed = Pairs(KernelOf(parts + "18" + product, {{DataType::kInt8, {5, 36}}}));
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Ranges(packed->products), (std::vector<int64_t>{3, 5, 5, 3}));
  for (const PackedMatmul::Operand& operand : packed->operands) {
    EXPECT_EQ(operand.kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {5, 3, 3}}));
  }
  // Blocks that do not begin at multiples of their length have no dimension.
  EXPECT_FALSE(Pairs(KernelOf(parts + "16" + product, {{DataType::kInt8, {5, 36}}})));
  EXPECT_FALSE(Pairs(KernelOf(parts + "18" + product, {{DataType::kInt8, {5, 37}}})));
}

TEST(PackMatmul, MakesTensorsWithZerosAroundThemForPaddedConvolutions) {
  const FlatContraction flat = KernelOf(
      "function (A[C, H], B[K, C, I]) -> (O) { X = as_int(A, 32); P[c, y + 1 : C, H + 2] = =(X[c, "
      "y]); Y = as_int(B, 32); O[k, y : K, H] = +(P[c, y + i] * Y[k, c, i]); }",
      {{DataType::kUInt8, {6, 11}}, {DataType::kInt8, {4, 6, 3}}});
  const auto packed = Pairs(flat);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->operands[0].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {3, 13}}));
  EXPECT_TRUE(packed->products.constraints.empty());
}

TEST(PackMatmul, KeepsConditionsOfOtherIndices) {
  const FlatContraction flat = Product(
      DataType::kInt8, "O[k, y : 4, 11] = +(X[c, y + i - 1] * Y[k, c, i]);", {6, 11}, {4, 6, 3});
  ASSERT_FALSE(flat.constraints.empty());
  const auto packed = Pairs(flat);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->operands[0].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {3, 11}}));
  EXPECT_EQ(packed->products.constraints.size(), flat.constraints.size());
}

TEST(PackMatmul, LeavesWideAndOtherSumsAlone) {
  const std::string matmul = "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);";
  EXPECT_TRUE(Pairs(Product(DataType::kInt16, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(Pairs(Product(DataType::kUInt16, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(Pairs(Product(DataType::kInt32, matmul, {5, 7}, {7, 9})));
  EXPECT_FALSE(
      Pairs(Product(DataType::kInt8, "O[i, j : 5, 9] = >(X[i, k] * Y[k, j]);", {5, 7}, {7, 9})));
  EXPECT_FALSE(Pairs(
      KernelOf("function (A[M, L], B[L, N]) -> (O) { O[i, j : M, N] = +(A[i, k] * B[k, j]); }",
               {{DataType::kFloat32, {5, 7}}, {DataType::kFloat32, {7, 9}}})));
}

TEST(PackMatmul, NeedsAReducedIndexThatBothFactorsHaveToItself) {
  // A sliding window only: each reduced index shares a coordinate with an output index.
  EXPECT_FALSE(Pairs(
      Product(DataType::kInt8, "O[c, y : 6, 9] = +(X[c, y + i] * Y[c, i]);", {6, 11}, {6, 3})));
  // The diagonal: the index occurs in two coordinates.
  EXPECT_FALSE(Pairs(Product(DataType::kInt8, "O[j : 9] = +(X[k, k] * Y[k, j]);", {7, 7}, {7, 9})));
  // A constraint limits the sum to nearby elements.
  EXPECT_FALSE(Pairs(Product(DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]), i + k < 6;",
                             {5, 7}, {7, 9})));
}

TEST(PackMatmul, PutsFourBytesIntoAWord) {
  const FlatContraction flat =
      Product(DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);", {5, 7}, {7, 9});
  const auto packed = PackMatmul(flat, PackedForm::kBytes);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Ranges(packed->products), (std::vector<int64_t>{5, 9, 2}));
  EXPECT_EQ(std::get<Apply>(packed->products.body->node).op, ScalarOp::kDot8);
  EXPECT_EQ(packed->operands.size(), 2u);
}

TEST(PackMatmul, TakesDifferencesOfWholeRowsOutOfBytes) {
  const std::string head =
      "function (A[M, L], Z, B[L, N]) -> (O) { X = as_int(A, 32) - as_int(Z, 32); Y = as_int(B, "
      "32); ";
  const auto kernel = [&](const std::string& statement, DataType right,
                          std::vector<int64_t> zeros) {
    return KernelOf(
        head + statement + " }",
        {{DataType::kUInt8, {5, 7}}, {DataType::kUInt8, std::move(zeros)}, {right, {7, 9}}});
  };
  const std::string matmul = "O[i, j : M, N] = +(X[i, k] * Y[k, j]);";
  // The left factor is not signed bytes, which requires sums of the right one. If the right factor
  // differs, too, both sums are required.
  const auto left = PackMatmul(kernel(matmul, DataType::kInt8, {5, 1}), PackedForm::kBytes);
  ASSERT_TRUE(left.has_value());
  ASSERT_EQ(left->operands.size(), 3u);
  EXPECT_EQ(left->operands[2].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {9}}));
  const auto both = PackMatmul(kernel(matmul, DataType::kUInt8, {}), PackedForm::kBytes);
  ASSERT_TRUE(both.has_value());
  ASSERT_EQ(both->operands.size(), 4u);
  EXPECT_EQ(both->operands[2].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {5}}));
  // Zero points that vary along the reduced index cannot be factored out.
  EXPECT_FALSE(PackMatmul(kernel(matmul, DataType::kInt8, {1, 7}), PackedForm::kBytes));
  // A constraint gives the sums different numbers of terms.
  EXPECT_FALSE(
      PackMatmul(kernel("O[i, j : M, N] = +(X[i, k] * Y[k, j]), i + j < 8;", DataType::kInt8, {}),
                 PackedForm::kBytes));
}

TEST(PackMatmul, LeavesTheSignAwayOfTheFactorThatCostsTheFewestSums) {
  const auto packed = [&](DataType left, DataType right) {
    const FlatContraction flat = KernelOf(
        "function (A[M, L], B[L, N]) -> (O) { X = as_int(A, 32); Y = as_int(B, 32); "
        "O[i, j : M, N] = +(X[i, k] * Y[k, j]); }",
        {{left, {5, 7}}, {right, {7, 9}}});
    return PackMatmul(flat, PackedForm::kUnsignedBytes).value();
  };
  // Returns the access that is the unsigned operand.
  const auto first_read = [](const PackedMatmul& product) {
    const auto& dot = std::get<Apply>(product.products.body->node);
    EXPECT_EQ(dot.op, ScalarOp::kDot8u);
    const int access = std::get<Read>(dot.operands[0]->node).access;
    return product.products.accesses[access].tensor;
  };
  const PackedMatmul mixed = packed(DataType::kUInt8, DataType::kInt8);
  EXPECT_EQ(mixed.operands.size(), 2u);
  EXPECT_EQ(first_read(mixed), mixed.operands[0].tensor);
  const PackedMatmul turned = packed(DataType::kInt8, DataType::kUInt8);
  EXPECT_EQ(turned.operands.size(), 2u);
  EXPECT_EQ(first_read(turned), turned.operands[1].tensor);
  // Otherwise the correction needs sums of the second factor, whose rows have nine elements.
  for (const DataType type : {DataType::kInt8, DataType::kUInt8}) {
    const PackedMatmul same = packed(type, type);
    ASSERT_EQ(same.operands.size(), 3u);
    EXPECT_EQ(same.operands[2].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {9}}));
  }
}

TEST(PackMatmul, PutsTwoFloatsIntoAWord) {
  const auto kernel = [](const std::string& statement) {
    return KernelOf("function (A[M, L], B[L, N]) -> (O) { " + statement + " }",
                    {{DataType::kFloat32, {5, 7}}, {DataType::kFloat32, {7, 9}}});
  };
  const auto packed =
      PackMatmul(kernel("O[i, j : M, N] = +(A[i, k] * B[k, j]);"), PackedForm::kBFloat16);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(Ranges(packed->products), (std::vector<int64_t>{5, 9, 4}));
  EXPECT_EQ(std::get<Apply>(packed->products.body->node).op, ScalarOp::kDotBFloat16);
  EXPECT_EQ(packed->products.body->type, DataType::kFloat32);
  ASSERT_EQ(packed->operands.size(), 2u);
  EXPECT_EQ(packed->operands[0].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {5, 4}}));
  EXPECT_EQ(packed->operands[1].kernel.outputs[0].shape, (TensorShape{DataType::kInt32, {4, 9}}));
  for (const char* other : {"O[i, j : M, N] = >(A[i, k] * B[k, j]);",
                            "O[i, j : M, N] = +(A[i, k] + B[k, j]);", "O = A * 2;"}) {
    EXPECT_FALSE(PackMatmul(kernel(other), PackedForm::kBFloat16)) << other;
  }
  const FlatContraction integers =
      Product(DataType::kInt8, "O[i, j : 5, 9] = +(X[i, k] * Y[k, j]);", {5, 7}, {7, 9});
  EXPECT_FALSE(PackMatmul(integers, PackedForm::kBFloat16));
}

TEST(IntegerRange, FollowsConversionsAndArithmetic) {
  const auto range = [](const std::string& expression) {
    const FlatContraction flat = KernelOf("function (A, B) -> (O) { O = " + expression + "; }",
                                          {{DataType::kInt8, {4}}, {DataType::kUInt8, {4}}});
    return IntegerRange(flat, flat.outputs[0].expr);
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
