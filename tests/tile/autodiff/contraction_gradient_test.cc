// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/autodiff/check_gradient.h"

namespace tartan::autodiff {
namespace {

class ContractionGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(ContractionGradient, EqualsCentralDifferences) {
  ExpectGradientEqualsDifferences(GetParam());
}

TEST_P(ContractionGradient, EqualsCentralDifferencesWhenTheFirstWins) {
  GradientOptions options;
  options.ties = Ties::kFirst;
  ExpectGradientEqualsDifferences(GetParam(), options);
}

// Appends every aggregation with every combination, over index ranges that truncate each other.
void AppendPairs(std::vector<GradientCase>& cases) {
  struct Named {
    const char* name;
    const char* text;
  };
  constexpr Named kAggregations[] = {{"Sum", "+"}, {"Product", "*"}, {"Max", ">"}, {"Min", "<"}};
  constexpr Named kCombinations[] = {{"One", "A[i, k]"},
                                     {"Multiply", "A[i, k] * B[k + 1, j]"},
                                     {"Add", "A[i, k] + B[k + 1, j]"},
                                     {"Cond", "A[i, k] == B[k + 1, j] ? C[j, k]"}};
  for (const Named& aggregation : kAggregations) {
    for (const Named& combination : kCombinations) {
      const bool is_cond = combination.name == std::string("Cond");
      for (const bool whole : {false, true}) {
        // Whole numbers would tie in maxima. Sums and multiplications are multilinear and may get
        // zeros.
        if (whole && (aggregation.text[0] == '>' || aggregation.text[0] == '<')) continue;
        if (!whole && is_cond) continue;
        cases.push_back({absl::StrCat(aggregation.name, combination.name, whole ? "OfZeros" : ""),
                         absl::StrCat("function (A, B, C) -> (O) { O[i, j : 3, 4] = ",
                                      aggregation.text, "(", combination.text, "), i + k < 4; }"),
                         {F64({4, 5}), F64({4, 3}), F64({3, 4})},
                         -1.4,
                         1.4,
                         whole});
      }
    }
    cases.push_back({absl::StrCat(aggregation.name, "CondOfValues"),
                     absl::StrCat("function (A, C) -> (O) { O[i : 3] = ", aggregation.text,
                                  "(A[i] == A[k] ? C[i, k]); }"),
                     {F64({4}), F64({4, 4})}});
  }
}

// Appends assignments with every combination; each output element has one index point.
void AppendAssignments(std::vector<GradientCase>& cases) {
  struct Named {
    const char* name;
    const char* text;
  };
  constexpr Named kCombinations[] = {{"One", "A[i, k]"},
                                     {"Multiply", "A[i, k] * B[k + 1, j]"},
                                     {"Add", "A[i, k] + B[k + 1, j]"},
                                     {"Cond", "I[i, k] == I[i, j] ? C[j, k]"}};
  for (const Named& combination : kCombinations) {
    const bool has_j = combination.name != std::string("One");
    cases.push_back({absl::StrCat("Assign", combination.name),
                     absl::StrCat("function (A, B, C, I) -> (O) { O[i, k, ", has_j ? "j" : "0",
                                  " : 3, 4, 3] = =(", combination.text, "), i + k < 4; }"),
                     {F64({4, 5}), F64({4, 3}), F64({3, 4}), I64({4, 5})}});
  }
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  AppendPairs(cases);
  AppendAssignments(cases);
  const std::vector<GradientCase> more = {
      {"Transpose", "function (A[M, N]) -> (O) { O[j, i : N, M] = =(A[i, j]); }", {F64({3, 4})}},
      {"AssignOfProduct",
       "function (A[M], B[N]) -> (O) { O[i, j : M, N] = =(A[i] * B[j]); }",
       {F64({3}), F64({4})}},
      {"AssignOfSum",
       "function (A[M], B[N]) -> (O) { O[i, j : M, N] = =(A[i] + B[j]), i + j < 4; }",
       {F64({3}), F64({4})}},
      {"StridedConvolutionOfOneElement",
       "function (I[N, C, Y, X], K[O, C, A, B]) -> (R) { R[n, o, y, x : 2, 3, 2, 3] = +(I[n, c, "
       "2*y "
       "+ a, 2*x + b] * K[o, c, a, b]); }",
       {F64({2, 2, 4, 5}), F64({3, 2, 1, 1})}},
      {"StridesThatBeginLater",
       "function (I[N, X], K[N, M]) -> (R) { R[x, m : 3, M] = +(I[n, 3*x + 1] * K[n, m]); }",
       {F64({2, 8}), F64({2, 3})}},
      {"StridesBeyondTheEnd",
       "function (I[N, X], K[N, M]) -> (R) { R[x, m : 3, M] = +(I[n, 3*x + 1] * K[n, m]); }",
       {F64({2, 7}), F64({2, 3})}},
      {"StridedDilatedConvolution",
       "function (I[N, H, W, CI], K[KH, KW, CI, CO]) -> (O) { O[n, y, x, co : N, H/3, W/3, CO] = "
       "+(I[n, 3*y + 2*j, 3*x + 2*i, ci] * K[j, i, ci, co]); }",
       {F64({1, 7, 6, 2}), F64({2, 2, 2, 2})}},
      {"MaxPool",
       "function (I[N, M]) -> (O) { O[i, j : (N + 1) / 2, M / 2] = >(I[2*i + p, 2*j + q]), p < 2, "
       "q < 3; }",
       {F64({5, 6})}},
      {"MinOfDifferences",
       "function (A[N], B[M]) -> (O) { O[i : N] = <(A[i + j - 1] * B[j]); }",
       {F64({6}), F64({3})}},
      {"NegativeIndices",
       "function (A[N], B[M]) -> (O) { O[i : 4] = >(A[i - k] + B[k + 3]); }",
       {F64({4}), F64({5})}},
      {"FractionsInASum",
       "function (A[N], B[M]) -> (O) { O[i : 3] = +(A[x / 3] + B[x + i]); }",
       {F64({3}), F64({9})}},
      {"FractionsInAMaximum",
       "function (A[N], B[M]) -> (O) { O[i : 3] = >(A[x / 3] * B[x + i]); }",
       {F64({3}), F64({9})}},
      {"FractionsInTheOutput",
       "function (A[N]) -> (O) { O[x / 2 : 4] = *(A[x + k]), k < 2; }",
       {F64({9})}},
      {"ProductOfIndicesThatNoSingleConditionBounds",
       "function (A, B) -> (O) { O[] = *(A[i + j] * B[i - j]); }",
       {F64({3}), F64({3})}},
      {"MaximumOfIndicesThatNoSingleConditionBounds",
       "function (A, B) -> (O) { O[] = >(A[i + j] * B[i - j]); }",
       {F64({4}), F64({4})}},
      {"SummandHoldsAnIndexAlone",
       "function (A[N], B[M]) -> (O) { O[i : N] = +(A[i] + B[j]); }",
       {F64({3}), F64({4})}},
      {"NothingIsValid",
       "function (A[N], B[M]) -> (O) { O[i : N] = >(A[i] * B[i + 9]); }",
       {F64({3}), F64({4})}},
      {"Square", "function (A[N]) -> (O) { O[] = +(A[i] * A[i]); }", {F64({5})}},
      {"ProductOfElementsReachedTwice",
       "function (A[N]) -> (O) { O[i : 2] = *(A[2*i + j + k]), j < 2, k < 2; }",
       {F64({4})}},
      {"Defaults",
       "function (A[N], D) -> (O, P, Q, R) { O[2*i : 7] = +(A[i]) default D; P[2*i : 7] = >(A[i + "
       "k]), k < 2 default D; Q[i + 4 : 7] = *(A[i]) default D; R[i + 1 : 7] = +(A[i] * A[k]), k < "
       "2 default D; }",
       {F64({4}), F64({7})}},
      {"NoDefract",
       "function (A[N]) -> (O) { O[2*i + j : 8] = +(A[3*i - j]) no_defract; }",
       {F64({9})}},
      {"CumulativeSum", "function (I[N]) -> (O) { O[i : N] = +(I[k]), i - k < N; }", {F64({6})}},
      {"Softmax",
       "function (X[M, N]) -> (O) { P[m, 0 : M, 1] = >(X[m, n]); E = exp(X - P); S[m, 0 : M, 1] = "
       "+(E[m, n]); O = E / S; }",
       {F64({3, 5})}},
      {"IntegerFactor",
       "function (A[N, M], B) -> (O) { O[i : N] = +(A[i, j] * B[j]); }",
       {F64({3, 4}), I64({4})}},
      {"ScalarFactor",
       "function (A[N], B[]) -> (O) { O[] = +(A[i] * B[]); }",
       {F64({5}), F64({})}}};
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ContractionGradient, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

std::vector<double> ByInput(const std::string& code, const std::vector<double>& input, Ties ties) {
  const auto n = static_cast<int64_t>(input.size());
  GradientOptions options;
  options.ties = ties;
  return GradientsOf(BindCode(code, {F64({n})}), {0}, {Doubles({n}, input)}, options)
      .at(0)
      .ToDoubles();
}

// A comparison yields 0 or 1, so its derivative is 0 almost everywhere.
TEST(ComparingContraction, HasNoGradient) {
  for (const char* aggregation : {"+", "*", ">", "<"}) {
    EXPECT_EQ(ByInput(absl::StrCat("function (A) -> (O) { E[i : 3] = ", aggregation,
                                   "(A[i] == A[j]); O = as_float(E, 64); }"),
                      {1, 2, 1}, Ties::kShare),
              (std::vector<double>{0, 0, 0}))
        << aggregation;
  }
  EXPECT_EQ(ByInput("function (A) -> (O) { E[i, j : 3, 3] = =(A[i] == A[j]); O = as_float(E, 64); "
                    "}",
                    {1, 2, 1}, Ties::kShare),
            (std::vector<double>{0, 0, 0}));
}

TEST(ExtremumTies, AreShared) {
  EXPECT_EQ(ByInput("function (A) -> (O) { O[] = >(A[i]); }", {3, 1, 3, 2, 3, 3}, Ties::kShare),
            (std::vector<double>{0.25, 0, 0.25, 0, 0.25, 0.25}));
}

TEST(ExtremumTies, AreGivenToTheFirst) {
  EXPECT_EQ(ByInput("function (A) -> (O) { O[] = >(A[i]); }", {1, 3, 3, 2}, Ties::kFirst),
            (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(ByInput("function (A) -> (O) { O[i : 2] = <(A[2*i + j]), j < 2; }", {1, 1, 0, 0},
                    Ties::kFirst),
            (std::vector<double>{1, 0, 1, 0}));
}

TEST(ExtremumTies, OfSeveralTensorsAreGivenToTheFirstIndexPoint) {
  // A[i] * A[j] is maximal at (1, 1), (1, 2), (2, 1) and (2, 2), in this order.
  const std::string products = "function (A) -> (O) { O[] = >(A[i] * A[j]); }";
  EXPECT_EQ(ByInput(products, {1, 3, 3}, Ties::kFirst), (std::vector<double>{0, 6, 0}));
  EXPECT_EQ(ByInput(products, {1, 3, 3}, Ties::kShare), (std::vector<double>{0, 3, 3}));
  EXPECT_EQ(
      ByInput("function (A) -> (O) { O[] = <(A[i] + A[j]), i + j < 2; }", {2, 2, 5}, Ties::kFirst),
      (std::vector<double>{2, 0, 0}));
  EXPECT_EQ(ByInput("function (A) -> (O) { O[] = >(A[i] == A[j] ? A[j]); }", {3, 3}, Ties::kFirst),
            (std::vector<double>{1, 0}));
}

TEST(ExtremumTies, OfOneElementReachedTwiceAddUpToOne) {
  for (const Ties ties : {Ties::kShare, Ties::kFirst}) {
    EXPECT_EQ(ByInput("function (A) -> (O) { O[] = >(A[i] + A[i] ); }", {1, 3}, ties),
              (std::vector<double>{0, 2}));
    EXPECT_EQ(ByInput("function (A) -> (O) { O[] = >(A[i + k]), k < 3; }", {1, 3}, ties),
              (std::vector<double>{0, 1}));
  }
}

TEST(ProductGradient, IsExactWithZeros) {
  const std::string product = "function (A) -> (O) { O[] = *(A[i]); }";
  EXPECT_EQ(ByInput(product, {2, 3, 4}, Ties::kShare), (std::vector<double>{12, 8, 6}));
  EXPECT_EQ(ByInput(product, {2, 0, 4}, Ties::kShare), (std::vector<double>{0, 8, 0}));
  EXPECT_EQ(ByInput(product, {0, 0, 4}, Ties::kShare), (std::vector<double>{0, 0, 0}));
}

}  // namespace
}  // namespace tartan::autodiff
