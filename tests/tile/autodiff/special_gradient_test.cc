// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/autodiff/check_gradient.h"

namespace tartan::autodiff::special_gradient_test {
namespace {

class SpecialGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(SpecialGradient, EqualsCentralDifferences) { ExpectGradientEqualsDifferences(GetParam()); }

TEST_P(SpecialGradient, EqualsCentralDifferencesWhenTheFirstWins) {
  GradientOptions options;
  options.ties = Ties::kFirst;
  ExpectGradientEqualsDifferences(GetParam(), options);
}

GradientCase One(const std::string& name, const std::string& expression, bool whole = false) {
  return {name,          absl::StrCat("function (A) -> (O) { O = ", expression, "; }"),
          {F64({3, 4})}, -1.4,
          1.4,           whole};
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases = {
      One("Reshape", "reshape(A, 2, 6) * reshape(A, 6, 2, 1)"),
      One("Index", "A * index(A, 1)"),
      One("Sort", "sort(A, 1) * index(A, 1)"),
      One("SortDescending", "sort(A, 0, 1) * index(A, 0)"),
      One("ArgSort", "A * argsort(A, 1)"),
      One("Prng", "A * reshape(prng(3, 12), 3, 4)"),
      {"Gather", "function (A, I) -> (O) { O = gather(A, I); }", {F64({4, 3}), I64({2, 3})}},
      {"GatherInTheMiddle",
       "function (A, I) -> (O) { O = gather(A, I, 1); }",
       {F64({2, 4, 3}), I64({2, 3})}},
      {"GatherAtTheEnd",
       "function (A, I) -> (O) { O = gather(A, I, 2); }",
       {F64({2, 3, 4}), I64({5})}},
      {"GatherOne", "function (A, I) -> (O) { O = gather(A, I, 1); }", {F64({2, 4}), I64({})}},
      {"GatherWithBytes",
       "function (A, I) -> (O) { O = gather(A, as_int(I, 8)); }",
       {F64({200}), I64({5})}},
      {"GatherElements",
       "function (A, I) -> (O) { O = gather_elements(A, I, 1); }",
       {F64({3, 4}), I64({2, 6})}},
      {"GatherNd",
       "function (A, I) -> (O) { O = gather_nd(A, I); }",
       {F64({3, 4, 2}), I64({5, 2})}},
      {"GatherNdWithBatch",
       "function (A, I) -> (O) { O = gather_nd(A, I, 2); }",
       {F64({2, 3, 4, 2}), I64({2, 3, 2, 1})}},
      {"Scatter",
       "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
       {F64({2, 3, 2}), I64({2, 3}), F64({4})}}};
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const std::string variant =
          absl::StrCat(exclusive ? "Exclusive" : "", reverse ? "Reverse" : "");
      const std::string params = absl::StrCat("A, 1, ", int{exclusive}, ", ", int{reverse});
      cases.push_back(One("CumSum" + variant, absl::StrCat("cumsum(", params, ")")));
      cases.push_back(One("CumProd" + variant, absl::StrCat("cumprod(", params, ")")));
      cases.push_back(One("CumProdOfZeros" + variant, absl::StrCat("cumprod(", params, ")"), true));
    }
  }
  const char* const modes[] = {"Assign", "Add", "Multiply", "Min", "Max"};
  for (int mode = 0; mode < 5; ++mode) {
    cases.push_back({absl::StrCat("ScatterElements", modes[mode]),
                     absl::StrCat("function (A, I, U) -> (O) { O = scatter_elements(A, I, U, 1, ",
                                  mode, "); }"),
                     {F64({3, 4}), I64({2, 6}), F64({2, 6})}});
    cases.push_back(
        {absl::StrCat("ScatterNd", modes[mode]),
         absl::StrCat("function (A, I, U) -> (O) { O = scatter_nd(A, I, U, ", mode, "); }"),
         {F64({3, 4, 2}), I64({9, 2}), F64({9, 2})}});
  }
  cases.push_back({"ScatterOfZeros",
                   "function (A, I, U) -> (O) { O = scatter_elements(A, I, U, 0, 2); }",
                   {F64({4}), I64({9}), F64({9})},
                   -1.4,
                   1.4,
                   true});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, SpecialGradient, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

HostTensor Positions(const std::vector<int64_t>& values) {
  return HostTensor::FromVector<int64_t>(I64({static_cast<int64_t>(values.size())}), values);
}

std::vector<std::vector<double>> ByDataAndUpdates(int mode, Ties ties) {
  const ir::Program program = BindCode(
      absl::StrCat("function (A, I, U) -> (O) { O = scatter_elements(A, I, U, 0, ", mode, "); }"),
      {F64({3}), I64({4}), F64({4})});
  GradientOptions options;
  options.ties = ties;
  std::vector<std::vector<double>> result;
  for (const HostTensor& gradient :
       GradientsOf(program, {0, 2},
                   {Doubles({3}, {5, 0, 1}), Positions({0, 2, 2, 7}), Doubles({4}, {5, 4, 4, 0})},
                   options)) {
    result.push_back(gradient.ToDoubles());
  }
  return result;
}

using Gradients = std::vector<std::vector<double>>;

TEST(ScatterTies, AreSharedAmongDataAndUpdates) {
  EXPECT_EQ(ByDataAndUpdates(4, Ties::kShare), (Gradients{{0.5, 1, 0}, {0.5, 0.5, 0.5, 0}}));
}

TEST(ScatterTies, AreGivenToTheDataThenToTheFirstUpdate) {
  EXPECT_EQ(ByDataAndUpdates(4, Ties::kFirst), (Gradients{{1, 1, 0}, {0, 1, 0, 0}}));
}

TEST(ScatterGradient, GoesToTheLastAssignment) {
  EXPECT_EQ(ByDataAndUpdates(0, Ties::kShare), (Gradients{{0, 1, 0}, {1, 0, 1, 0}}));
}

}  // namespace
}  // namespace tartan::autodiff::special_gradient_test
