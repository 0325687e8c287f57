// SPDX-License-Identifier: Apache-2.0
// Derivatives of multiplicative reductions up to the third order, at points where factors are 0.
// The function is a polynomial, so it is differentiable there as well.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/autodiff/check_gradient.h"

namespace tartan::autodiff {
namespace {

struct ProductCase {
  const char* name;
  const char* code;  // a function of A and an integer tensor I
  std::vector<TensorShape> inputs;
};

std::ostream& operator<<(std::ostream& out, const ProductCase& test) { return out << test.name; }

class ProductAtZeros : public testing::TestWithParam<ProductCase> {};

// Inputs are whole numbers from -1 to 1, which makes many factors zero.
TEST_P(ProductAtZeros, EqualsCentralDifferencesInEveryOrder) {
  GradientCase test{"", GetParam().code, GetParam().inputs};
  test.low = -1.4;
  test.high = 1.4;
  test.whole = true;
  ir::Program program = BindCode(test.code, test.inputs);
  for (const int order : {1, 2, 3}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const Comparison result = CompareWithDifferences(program, DrawInputs(test, seed));
      EXPECT_EQ(result.difference, "") << "order " << order << ", seed " << seed;
      EXPECT_EQ(result.skipped, 0) << "order " << order;
    }
    if (order == 3) break;
    absl::StatusOr<ir::Program> gradient = Gradient(program, {0});
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    // Differentiates the derivative only: summing its elements with equal weights could hide
    // errors.
    program = *std::move(gradient);
    program.outputs = {program.outputs.back()};
    program.output_names = {"G"};
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ProductAtZeros,
    testing::Values(
        ProductCase{"Vector", "function (A, B) -> (O) { O[] = *(A[i]); }", {F64({5}), F64({1})}},
        ProductCase{
            "Rows", "function (A, B) -> (O) { O[m : 2] = *(A[m, n]); }", {F64({2, 3}), F64({1})}},
        ProductCase{"Columns",
                    "function (A, B) -> (O) { O[n : 3] = *(A[m, n]); }",
                    {F64({4, 3}), F64({1})}},
        ProductCase{"Windows",
                    "function (A, B) -> (O) { O[i : 4] = *(A[2*i + j - 1]), j < 3; }",
                    {F64({6}), F64({1})}},
        ProductCase{"ElementsReadTwice",
                    "function (A, B) -> (O) { O[i : 2] = *(A[2*i + j + k]), j < 2, k < 2; }",
                    {F64({5}), F64({1})}},
        ProductCase{"SumsOfTwo",
                    "function (A, B) -> (O) { O[i : 2] = *(A[i, k] + B[k]); }",
                    {F64({2, 3}), F64({3})}},
        ProductCase{"ProductsOfTwo",
                    "function (A, B) -> (O) { O[i : 2] = *(A[i, k] * B[k]), i + k < 3; }",
                    {F64({2, 3}), F64({3})}},
        ProductCase{"Fractions",
                    "function (A, B) -> (O) { O[x / 2 : 3] = *(A[x + k]), k < 3; }",
                    {F64({7}), F64({1})}},
        ProductCase{"Default",
                    "function (A, B) -> (O) { O[2*i : 4] = *(A[i, j]) default B; }",
                    {F64({2, 3}), F64({4})}},
        ProductCase{
            "Running", "function (A, B) -> (O) { O = cumprod(A, 0); }", {F64({6}), F64({1})}},
        ProductCase{"RunningExclusive",
                    "function (A, B) -> (O) { O = cumprod(A, 1, 1); }",
                    {F64({2, 5}), F64({1})}},
        ProductCase{"RunningReverse",
                    "function (A, B) -> (O) { O = cumprod(A, 0, 0, 1); }",
                    {F64({4, 2}), F64({1})}},
        ProductCase{"RunningExclusiveReverse",
                    "function (A, B) -> (O) { O = cumprod(A, 0, 1, 1); }",
                    {F64({5}), F64({1})}},
        ProductCase{"ScatterElements",
                    "function (A, I, D) -> (O) { O = scatter_elements(D, I, A, 0, 2); }",
                    {F64({6}), I64({6}), F64({3})}},
        ProductCase{"ScatterElementsOfRows",
                    "function (A, I, D) -> (O) { O = scatter_elements(D, I, A, 1, 2); }",
                    {F64({2, 4}), I64({2, 4}), F64({2, 3})}},
        ProductCase{"ScatterNd",
                    "function (A, I, D) -> (O) { O = scatter_nd(D, I, A, 2); }",
                    {F64({4, 2}), I64({4, 1}), F64({3, 2})}},
        ProductCase{"ScatterData",
                    "function (D, I, A) -> (O) { O = scatter_elements(D, I, A, 0, 2); }",
                    {F64({3}), I64({5}), F64({5})}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::autodiff
