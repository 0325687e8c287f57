// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

ExprPtr Make(decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{{}, std::move(node)});
}

Function WithValue(ExprPtr value) {
  Function function;
  function.inputs.push_back({{}, "A", false, {}, {}});
  function.outputs = {"B"};
  function.statements.push_back({{}, {}, Assignment{"B", std::move(value)}});
  return function;
}

void ExpectRoundTrip(const Function& function) {
  const std::string text = Print(function);
  const absl::StatusOr<Function> again = Parse(text);
  ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << text;
  EXPECT_TRUE(Equal(function, *again)) << text << Print(*again);
  EXPECT_EQ(Print(*again), text);
}

std::string Reprint(absl::string_view expr) {
  const absl::StatusOr<Function> function =
      Parse(absl::StrCat("function (A) -> (B) { B = ", expr, "; }"));
  EXPECT_TRUE(function.ok()) << function.status().message();
  if (!function.ok()) return "";
  ExpectRoundTrip(*function);
  const std::string text = Print(*function);
  const size_t start = text.find("B = ") + 4;
  return text.substr(start, text.find(';') - start);
}

TEST(Printer, WritesOneStatementALine) {
  const absl::string_view text =
      "function (A[M, 3], S[], C) -> (O, P) {\n"
      "  [[pid(conv, L1)]] O[i, 2 * j : M, N + 1] = +(A[i + 1, j - k] * C[k]), k < 3, i - j < M "
      "no_defract default D;\n"
      "  [[hot]] P = O > 0 ? O : 0.1 * O;\n"
      "  Q[] = >(A[i, j] == S[] ? C[i]);\n"
      "}\n";
  const absl::StatusOr<Function> function = Parse(text);
  ASSERT_TRUE(function.ok()) << function.status().message();
  EXPECT_EQ(Print(*function), text);
}

TEST(Printer, WritesOnlyTheParenthesesThatMatter) {
  EXPECT_EQ(Reprint("((A) + (B * C))"), "A + B * C");
  EXPECT_EQ(Reprint("(A + B) * C"), "(A + B) * C");
  EXPECT_EQ(Reprint("A - (B - C) - (D)"), "A - (B - C) - D");
  EXPECT_EQ(Reprint("-(A + B)"), "-(A + B)");
  EXPECT_EQ(Reprint("-(-A)"), "--A");
  EXPECT_EQ(Reprint("(A < B) == (C < D)"), "A < B == C < D");
  EXPECT_EQ(Reprint("(A < B) < C"), "(A < B) < C");
  EXPECT_EQ(Reprint("(A ? B : C) ? (D ? E : F) : (G ? H : I)"),
            "(A ? B : C) ? D ? E : F : G ? H : I");
  EXPECT_EQ(Reprint("A ^ (B | C) & D"), "A ^ (B | C) & D");
  EXPECT_EQ(Reprint("max(A, (B + C), exp((D)))"), "max(A, B + C, exp(D))");
}

TEST(Printer, WritesOperatorsWrittenAsFunctionsAsOperators) {
  EXPECT_EQ(Reprint("add(A, mul(B, C))"), "A + B * C");
  EXPECT_EQ(Reprint("cond(cmp_lt(A, B), neg(A), B)"), "A < B ? -A : B");
  EXPECT_EQ(Reprint("neg(3)"), "neg(3)");  // "-3" is a literal
  EXPECT_EQ(Reprint("- 3"), "-3");
  EXPECT_EQ(Reprint("A - -3"), "A - -3");
  EXPECT_EQ(Reprint("add(A)"), "add(A)");  // the binder's error, not the printer's
}

TEST(Printer, WritesNumbersThatReadBackEqual) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<uint64_t> bits;
  std::vector<double> values = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.1,
                                1e-5,
                                1e300,
                                5e-324,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
  while (values.size() < 500) {
    const uint64_t random_bits = bits(random);
    double value;
    std::memcpy(&value, &random_bits, sizeof(value));
    if (value == value) values.push_back(value);
  }
  for (const double value : values) ExpectRoundTrip(WithValue(Make(FloatLiteral{value})));
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min() + 1}) {
    ExpectRoundTrip(WithValue(Make(IntLiteral{value})));
    ExpectRoundTrip(WithValue(Make(Call{"neg", {Make(IntLiteral{value})}})));
  }
}

TEST(Printer, PrintsAnyExpressionSoThatItReadsBackEqual) {
  constexpr unsigned kSeed = 20261121;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  const auto pick = [&](int n) { return static_cast<int>(random() % n); };
  constexpr const char* kOne[] = {"neg", "bit_not", "logical_not", "exp"};
  constexpr const char* kTwo[] = {"add",      "sub",       "mul",    "div",       "mod",
                                  "bit_left", "cmp_lt",    "cmp_ge", "cmp_eq",    "bit_and",
                                  "bit_or",   "bit_xor",   "max",    "bit_right", "logical_and",
                                  "cmp_ne",   "logical_or"};
  const std::function<ExprPtr(int)> make = [&](int depth) -> ExprPtr {
    if (depth == 0 || pick(8) == 0) {
      if (pick(3) == 0) return Make(IntLiteral{pick(7) - 3});
      if (pick(3) == 0) return Make(FloatLiteral{(pick(7) - 3) / 4.0});
      return Make(Name{std::string(1, static_cast<char>('A' + pick(4)))});
    }
    if (pick(4) == 0) return Make(Call{kOne[pick(4)], {make(depth - 1)}});
    if (pick(5) == 0) {
      return Make(Call{"cond", {make(depth - 1), make(depth - 1), make(depth - 1)}});
    }
    return Make(Call{kTwo[pick(17)], {make(depth - 1), make(depth - 1)}});
  };
  for (int i = 0; i < 500; ++i) ExpectRoundTrip(WithValue(make(6)));
}

TEST(Printer, KeepsEscapedNames) { EXPECT_EQ(Reprint("#x + #X + _T"), "#x + X + _T"); }

TEST(Equal, SeesEveryDifferenceButPositions) {
  const auto parse = [](absl::string_view body) {
    return *Parse(absl::StrCat("function (A[N]) -> (B) { ", body, " }"));
  };
  const Function base = parse("B[i : N] = +(A[i]), i < 3;");
  EXPECT_TRUE(Equal(base, parse("  B [i:N]=+(A[ i ]),\n i < 3;")));
  EXPECT_FALSE(Equal(base, parse("B[i : N] = >(A[i]), i < 3;")));
  EXPECT_FALSE(Equal(base, parse("B[i : N] = +(A[i]), i < 4;")));
  EXPECT_FALSE(Equal(base, parse("B[i : N] = +(A[i + 1]), i < 3;")));
  EXPECT_FALSE(Equal(base, parse("B[i : N] = +(A[i]), i < 3 default C;")));
  EXPECT_FALSE(Equal(base, parse("B[i : N] = +(A[i]), i < 3 no_defract;")));
  EXPECT_FALSE(Equal(base, parse("[[x]] B[i : N] = +(A[i]), i < 3;")));
  EXPECT_FALSE(Equal(base, parse("B = A;")));
  EXPECT_FALSE(Equal(parse("B = 0.0;"), parse("B = -0.0;")));
  EXPECT_FALSE(Equal(parse("B = 1;"), parse("B = 1.0;")));
}

}  // namespace
}  // namespace tartan::lang
