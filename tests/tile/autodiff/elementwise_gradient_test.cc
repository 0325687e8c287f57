// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cctype>

#include "absl/strings/str_cat.h"
#include "tests/tile/autodiff/check_gradient.h"

namespace tartan::autodiff::elementwise_gradient_test {
namespace {

class ElementwiseGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(ElementwiseGradient, EqualsCentralDifferences) {
  ExpectGradientEqualsDifferences(GetParam());
}

GradientCase Unary(const std::string& function, double low, double high) {
  std::string name = function;
  name[0] = static_cast<char>(std::toupper(name[0]));
  return {
      name, absl::StrCat("function (A) -> (O) { O = ", function, "(A); }"), {F64({11})}, low, high};
}

GradientCase Formula(const std::string& name, const std::string& expression, double low = -2,
                     double high = 2) {
  return {name,
          absl::StrCat("function (A, B) -> (O) { O = ", expression, "; }"),
          {F64({3, 1, 4}), F64({5, 1})},
          low,
          high};
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const char* function :
       {"neg", "abs",  "sign", "ceil", "floor", "round", "trunc", "exp",     "expm1", "sin",  "cos",
        "tan", "atan", "sinh", "cosh", "tanh",  "asinh", "erf",   "sigmoid", "relu",  "ident"}) {
    const bool is_tan = std::string(function) == "tan";
    cases.push_back(Unary(function, is_tan ? -1 : -3, is_tan ? 1 : 3));
  }
  for (const char* function : {"sqrt", "recip", "log", "log1p"}) {
    cases.push_back(Unary(function, 0.3, 4));
  }
  for (const char* function : {"asin", "acos", "atanh"}) {
    cases.push_back(Unary(function, -0.9, 0.9));
  }
  cases.push_back(Unary("acosh", 1.2, 4));
  for (const auto& [name, op] : {std::pair{"Sum", "+"}, {"Difference", "-"}, {"Product", "*"}}) {
    cases.push_back(Formula(name, absl::StrCat("A ", op, " B")));
  }
  cases.push_back(Formula("Quotient", "A / B", 0.5, 3));
  cases.push_back(Formula("NegativeQuotient", "A / B", -3, -0.5));
  cases.push_back(Formula("Remainder", "A % (B - 2.5)", 0.5, 2));
  cases.push_back(Formula("CRemainder", "fmod(0 - 3 * A, B)", 0.5, 2));
  cases.push_back(Formula("Power", "pow(A, B)", 0.5, 2));
  cases.push_back(Formula("PowerOfAnything", "pow(A, 3) + pow(A * B, 2) + pow(A, 0) + pow(A, 1)"));
  cases.push_back(Formula("Maximum", "max(A, B)"));
  cases.push_back(Formula("Minimum", "min(A, B)"));
  cases.push_back(Formula("Clip", "min(max(A * B, -0.5), 1)"));
  cases.push_back(Formula("ArcTangentOfTwo", "atan2(A, B)"));
  cases.push_back(Formula("Choice", "A > B ? A * A : B * A"));
  cases.push_back(Formula("ChoiceOfLiteral", "A > 0 ? A : 0.1 * A"));
  cases.push_back(Formula("UsesOfOneValue", "A * A * A + A / (1 + B * B)"));
  cases.push_back(Formula("WeakLiterals", "2 * A + 1 / (B * B + 2) - 0.5 * (3 - A)"));
  cases.push_back(Formula("Casts", "as_float(as_float(A, 64) * 2, 64) * B"));
  cases.push_back(Formula("PathOfIntegers", "A * as_int(B * 3, 32)"));
  cases.push_back(Formula("MultiplyAdd", "mad(A, B, A)"));
  cases.push_back({"PowerOfIntegers",
                   "function (A, N) -> (O) { O = pow(A, N) + A * N; }",
                   {F64({4, 5}), I64({5})},
                   0.5,
                   2});
  cases.push_back(
      {"Scalars", "function (A, B) -> (O) { O = A * B + exp(A); }", {F64({}), F64({3})}});
  cases.push_back({"Mixture",
                   "function (A) -> (O, P, Q) { O = A * A; P = A > 0; Q = O * sin(A); }",
                   {F64({6})}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ElementwiseGradient, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

std::vector<double> ByA(const std::string& expression, const std::vector<double>& a,
                        const std::vector<double>& b, Ties ties, int wrt = 0) {
  const auto n = static_cast<int64_t>(a.size());
  const ir::Program program = BindCode(
      absl::StrCat("function (A, B) -> (O) { O = ", expression, "; }"), {F64({n}), F64({n})});
  GradientOptions options;
  options.ties = ties;
  return GradientsOf(program, {wrt}, {Doubles({n}, a), Doubles({n}, b)}, options).at(0).ToDoubles();
}

TEST(ElementwiseTies, AreSharedOrGivenToTheLeftOperand) {
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {3, 2, 1};
  EXPECT_EQ(ByA("max(A, B)", a, b, Ties::kShare), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(ByA("max(A, B)", a, b, Ties::kFirst), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(ByA("max(A, B)", a, b, Ties::kFirst, 1), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(ByA("min(A, B)", a, b, Ties::kShare, 1), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(ByA("min(A, B)", a, b, Ties::kFirst), (std::vector<double>{1, 1, 0}));
}

TEST(ElementwiseKinks, HaveTheDerivativeZero) {
  EXPECT_EQ(ByA("abs(A) + B", {0, -1, 2}, {0, 0, 0}, Ties::kShare),
            (std::vector<double>{0, -1, 1}));
  EXPECT_EQ(ByA("relu(A) + B", {0, -1, 2}, {0, 0, 0}, Ties::kShare),
            (std::vector<double>{0, 0, 1}));
}

TEST(PowerGradient, IsFiniteAtTheOrigin) {
  EXPECT_EQ(ByA("pow(A, B)", {0, 0, 0, -2}, {0, 1, 2, 2}, Ties::kShare),
            (std::vector<double>{0, 1, 0, -4}));
  EXPECT_EQ(ByA("pow(A, B)", {0, 0, 0, -2}, {0, 1, 2, 2}, Ties::kShare, 1),
            (std::vector<double>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace tartan::autodiff::elementwise_gradient_test
