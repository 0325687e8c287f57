// SPDX-License-Identifier: Apache-2.0
// Tests which results are rounded to 16 bits, and that gradients are rounded at the same places.
#include "frontend/api/precision/round_results.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "frontend/api/composer.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"

namespace tartan::api::round_results_test {
namespace {

Tensor Input(const char* name, std::vector<int64_t> dims, DataType type = DataType::kFloat32) {
  return Tensor::Placeholder(name, {type, std::move(dims)});
}

Tensor Made(const char* text, const std::vector<Tensor>& inputs) {
  const auto made = Apply(text, inputs, "node");
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

// The number of conversions to `type` in the program that computes a tensor.
int Roundings(const Tensor& tensor, DataType type) {
  const auto composed = Compose({}, {tensor});
  EXPECT_TRUE(composed.ok()) << composed.status();
  const std::string end = type == DataType::kBFloat16 ? "as_bfloat(" : ", 16)";
  const std::vector<std::string> pieces = absl::StrSplit(composed->program.code(), end);
  return static_cast<int>(pieces.size()) - 1;
}

int RoundingsOf(const Tensor& tensor, DataType type = DataType::kBFloat16) {
  const auto rounded = RoundResults({tensor}, type);
  EXPECT_TRUE(rounded.ok()) << rounded.status();
  EXPECT_EQ((*rounded)[0].shape(), tensor.shape());
  return Roundings((*rounded)[0], type);
}

constexpr char kProduct[] =
    "function (A[M, K], B[K, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
constexpr char kAdd[] = "function (A, B) -> (C) { C = A + B; }";
constexpr char kMean[] = "function (A[M, N]) -> (C) { S[i, 0 : M, 1] = +(A[i, j]); C = S / N; }";

TEST(RoundResults, RoundsProductsAndWhatIsAdded) {
  const Tensor product = Made(kProduct, {Input("a", {6, 5}), Input("b", {5, 4})});
  EXPECT_EQ(RoundingsOf(product), 1);
  EXPECT_EQ(RoundingsOf(Made(kAdd, {product, Input("c", {4})}), DataType::kFloat16), 2);
}

TEST(RoundResults, LeavesStatisticsAndWhatIsMadeOfThemAsTheyAre) {
  const Tensor x = Made(kAdd, {Input("a", {6, 5}), Input("b", {5})});  // rounded
  const Tensor centered = Made("function (A, M) -> (C) { C = A - M; }", {x, Made(kMean, {x})});
  const Tensor squares = Made("function (A) -> (C) { C = A * A; }", {centered});
  const Tensor deviation = Made("function (V) -> (C) { C = sqrt(V); }", {Made(kMean, {squares})});
  const Tensor normal = Made("function (A, D) -> (C) { C = A / D; }", {centered, deviation});
  EXPECT_EQ(RoundingsOf(normal), 1);
  // Rounding resumes at the next matmul.
  EXPECT_EQ(RoundingsOf(Made(kProduct, {normal, Input("w", {5, 3})})), 2);
}

TEST(RoundResults, RoundsWhatASoftmaxGivesAndNothingWithin) {
  const Tensor y =
      Made("function (X[M, N]) -> (Y) { E = exp(X); S[i, 0 : M, 1] = +(E[i, j]); Y = E / S; }",
           {Input("x", {6, 5})});
  EXPECT_EQ(RoundingsOf(y), 1);
}

TEST(RoundResults, LeavesViewsScalarsIntegersAndFloat64) {
  EXPECT_EQ(RoundingsOf(Made("function (X) -> (Y) { Y = reshape(X, 30); }", {Input("x", {6, 5})})),
            0);
  EXPECT_EQ(RoundingsOf(Made(kAdd, {Input("x", {}), Input("y", {1})})), 0);
  EXPECT_EQ(RoundingsOf(
                Made(kAdd, {Input("x", {6}, DataType::kInt32), Input("y", {6}, DataType::kInt32)})),
            0);
  EXPECT_EQ(RoundingsOf(Made(
                kAdd, {Input("x", {6}, DataType::kFloat64), Input("y", {6}, DataType::kFloat64)})),
            0);
}

TEST(RoundResults, LeavesWhatIsGivenAsItIs) {
  const Tensor x = Made(kAdd, {Input("x", {6, 5}), Input("y", {5})});
  const Tensor y = Made(kProduct, {x, Input("w", {5, 4})});
  const auto rounded = RoundResults({y}, DataType::kBFloat16, {x});
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  EXPECT_EQ(Roundings((*rounded)[0], DataType::kBFloat16), 1);
}

TEST(RoundResults, GradientsAreRoundedWhereValuesAre) {
  const Tensor x = Input("x", {6, 5});
  const Tensor y = Made(kProduct, {x, Input("w", {5, 4})});
  const auto rounded = RoundResults({y}, DataType::kBFloat16);
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  const SeededTensor loss{(*rounded)[0], Input("seed", {6, 4})};
  const auto gradient = Gradient(absl::MakeConstSpan(&loss, 1), {x});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ((*gradient)[0].type(), DataType::kFloat32);
  EXPECT_EQ(Roundings((*gradient)[0], DataType::kBFloat16), 1);  // rounds the seed
}

TEST(RoundResults, GradientsReadAResultAsItIsStored) {
  const Tensor x = Input("x", {30});
  const Tensor z = Made("function (X) -> (Y) { Y = tanh(X); }", {x});
  const auto stored = RoundResults({z}, DataType::kFloat16);
  ASSERT_TRUE(stored.ok());
  const SeededTensor loss{(*stored)[0], Input("seed", {30})};
  const auto gradient = Gradient(absl::MakeConstSpan(&loss, 1), {x});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  // 1 - tanh(x)^2 rounds tanh and the seed.
  EXPECT_EQ(Roundings((*gradient)[0], DataType::kFloat16), 2);
}

TEST(Rounded, KeepsTheType) {
  for (const DataType own : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
    const auto rounded = Rounded(Input("x", {6}, own), DataType::kFloat16);
    ASSERT_TRUE(rounded.ok()) << rounded.status();
    EXPECT_EQ(rounded->type(), own);
    EXPECT_EQ(Roundings(*rounded, DataType::kFloat16), 1);
  }
}

}  // namespace
}  // namespace tartan::api::round_results_test
