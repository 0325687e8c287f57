// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/parser.h"

#include <thread>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::lang {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Function MustParse(absl::string_view text) {
  absl::StatusOr<Function> function = Parse(text);
  EXPECT_TRUE(function.ok()) << function.status().message();
  return function.ok() ? *std::move(function) : Function{};
}

// Returns the value of a function's only statement.
ExprPtr ParseValue(absl::string_view expr) {
  const Function function = MustParse(absl::StrCat("function (A) -> (B) { B = ", expr, "; }"));
  return std::get<Assignment>(function.statements.at(0).node).value;
}

Contraction ParseContraction(absl::string_view text) {
  const Function function = MustParse(absl::StrCat("function (A) -> (O) { ", text, "; }"));
  return std::get<Contraction>(function.statements.at(0).node);
}

// Returns a tree with every call written out: add(A, mul(B, C)).
std::string Structure(const Expr& expr) {
  if (const auto* call = std::get_if<Call>(&expr.node)) {
    std::string result = call->function + "(";
    for (size_t i = 0; i < call->arguments.size(); ++i) {
      absl::StrAppend(&result, i > 0 ? ", " : "", Structure(*call->arguments[i]));
    }
    return result + ")";
  }
  if (const auto* name = std::get_if<Name>(&expr.node)) return name->name;
  if (const auto* number = std::get_if<IntLiteral>(&expr.node)) return absl::StrCat(number->value);
  return absl::StrCat(std::get<FloatLiteral>(expr.node).value);
}

std::string Structure(absl::string_view expr) { return Structure(*ParseValue(expr)); }

std::string Error(absl::string_view text) {
  const absl::StatusOr<Function> function = Parse(text, "f.tile");
  EXPECT_EQ(function.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(function.status().message());
}

TEST(Parser, ReadsTheHeader) {
  const Function function = MustParse("function (A[M, 3], B[], C) -> (D, E) { D = A; E = B; }");
  ASSERT_EQ(function.inputs.size(), 3);
  EXPECT_EQ(function.inputs[0].name, "A");
  EXPECT_THAT(function.inputs[0].dims, ElementsAre("M", "3"));
  EXPECT_TRUE(function.inputs[1].has_dims);
  EXPECT_THAT(function.inputs[1].dims, IsEmpty());
  EXPECT_FALSE(function.inputs[2].has_dims);
  EXPECT_THAT(function.outputs, ElementsAre("D", "E"));
}

TEST(Parser, AcceptsAFunctionWithoutInputsAndStatements) {
  const Function function = MustParse("function () -> (O) { }");
  EXPECT_THAT(function.inputs, IsEmpty());
  EXPECT_THAT(function.statements, IsEmpty());
}

TEST(Parser, ReadsAContractionWithAllItsParts) {
  const Contraction contraction = ParseContraction(
      "O[i, 2*j + 1 : N, M + 1] = >(A[i + k, j] * B[k]), k < N / 2, i - j < 4 no_defract default "
      "D");
  EXPECT_EQ(contraction.aggregation, Aggregation::kMax);
  EXPECT_EQ(contraction.combination, Combination::kMultiply);
  EXPECT_EQ(contraction.output.tensor, "O");
  EXPECT_EQ(Structure(*contraction.output.indices.at(1)), "add(mul(2, j), 1)");
  EXPECT_EQ(Structure(*contraction.output_dims.at(1)), "add(M, 1)");
  ASSERT_EQ(contraction.inputs.size(), 2);
  EXPECT_EQ(Structure(*contraction.inputs[0].indices.at(0)), "add(i, k)");
  ASSERT_EQ(contraction.constraints.size(), 2);
  EXPECT_EQ(Structure(*contraction.constraints[0].range), "div(N, 2)");
  EXPECT_EQ(Structure(*contraction.constraints[1].poly), "sub(i, j)");
  EXPECT_TRUE(contraction.no_defract);
  EXPECT_EQ(contraction.default_tensor, "D");
}

TEST(Parser, ReadsEveryAggregation) {
  EXPECT_EQ(ParseContraction("O[] = +(A[i])").aggregation, Aggregation::kSum);
  EXPECT_EQ(ParseContraction("O[] = *(A[i])").aggregation, Aggregation::kProduct);
  EXPECT_EQ(ParseContraction("O[] = >(A[i])").aggregation, Aggregation::kMax);
  EXPECT_EQ(ParseContraction("O[] = <(A[i])").aggregation, Aggregation::kMin);
  EXPECT_EQ(ParseContraction("O[] = =(A[i])").aggregation, Aggregation::kAssign);
  EXPECT_EQ(ParseContraction("O[] ==(A[i])").aggregation, Aggregation::kAssign);
}

TEST(Parser, ReadsEveryCombination) {
  EXPECT_EQ(ParseContraction("O[] = +(A[i])").combination, Combination::kNone);
  EXPECT_EQ(ParseContraction("O[] = +(A[i] * B[i])").combination, Combination::kMultiply);
  EXPECT_EQ(ParseContraction("O[] = +(A[i] + B[i])").combination, Combination::kAdd);
  EXPECT_EQ(ParseContraction("O[] = +(A[i] == B[i])").combination, Combination::kEqual);
  const Contraction selection = ParseContraction("O[] = +(A[i] == B[i] ? C[i])");
  EXPECT_EQ(selection.combination, Combination::kCond);
  EXPECT_EQ(selection.inputs.size(), 3);
}

TEST(Parser, ReadsScalarsInThreeSpellings) {
  EXPECT_THAT(ParseContraction("O[] = +(A[])").output.indices, IsEmpty());
  EXPECT_THAT(ParseContraction("O[:] = +(A[ ])").output.indices, IsEmpty());
  EXPECT_THAT(ParseContraction("O[ ] = +(A[])").output_dims, IsEmpty());
}

TEST(Parser, MultipliesANumberByTheVariableBehindIt) {
  const Contraction contraction = ParseContraction("O[2i : N] = +(A[3k - 1])");
  EXPECT_EQ(Structure(*contraction.output.indices[0]), "mul(2, i)");
  EXPECT_EQ(Structure(*contraction.inputs[0].indices[0]), "sub(mul(3, k), 1)");
}

TEST(Parser, BindsOperatorsAsCDoes) {
  EXPECT_EQ(Structure("A + B * C"), "add(A, mul(B, C))");
  EXPECT_EQ(Structure("A - B - C"), "sub(sub(A, B), C)");
  EXPECT_EQ(Structure("A / B % C"), "mod(div(A, B), C)");
  EXPECT_EQ(Structure("A << B + C"), "bit_left(A, add(B, C))");
  EXPECT_EQ(Structure("A < B << C"), "cmp_lt(A, bit_left(B, C))");
  EXPECT_EQ(Structure("A == B < C"), "cmp_eq(A, cmp_lt(B, C))");
  EXPECT_EQ(Structure("A & B == C"), "bit_and(A, cmp_eq(B, C))");
  EXPECT_EQ(Structure("A | B ^ C & D"), "bit_or(A, bit_xor(B, bit_and(C, D)))");
  EXPECT_EQ(Structure("A || B && C | D"), "logical_or(A, logical_and(B, bit_or(C, D)))");
  EXPECT_EQ(Structure("A || B ? C : D || E"), "cond(logical_or(A, B), C, logical_or(D, E))");
  EXPECT_EQ(Structure("A ? B : C ? D : E"), "cond(A, B, cond(C, D, E))");
  EXPECT_EQ(Structure("-A * !B + ~C"), "add(mul(neg(A), logical_not(B)), bit_not(C))");
  EXPECT_EQ(Structure("A >= B"), "cmp_ge(A, B)");
  EXPECT_EQ(Structure("A != (B <= C)"), "cmp_ne(A, cmp_le(B, C))");
  EXPECT_EQ(Structure("A >> B > C"), "cmp_gt(bit_right(A, B), C)");
}

TEST(Parser, ReadsNumbers) {
  EXPECT_EQ(Structure("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(Structure("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Structure("-3"), "-3");
  EXPECT_EQ(Structure("1.5e+3"), "1500");
  EXPECT_EQ(Structure("1e-5"), "1e-05");
  EXPECT_EQ(Structure("0.25"), "0.25");
  EXPECT_EQ(Structure("2E2"), "200");
  EXPECT_EQ(Structure("-inf()"), "-inf");
  EXPECT_EQ(Structure("nan()"), "nan");
  EXPECT_TRUE(std::holds_alternative<FloatLiteral>(ParseValue("1e3")->node));
  EXPECT_TRUE(std::holds_alternative<IntLiteral>(ParseValue("1000")->node));
}

TEST(Parser, ReadsNames) {
  EXPECT_EQ(Structure("_T1 + X_I_0' + Abc'"), "add(add(_T1, X_I_0'), Abc')");
  EXPECT_EQ(Structure("max(A, 3)"), "max(A, 3)");
}

TEST(Parser, KeepsAnEscapeOnlyWhereItChangesTheClass) {
  EXPECT_EQ(Structure("#x + #X"), "add(#x, X)");
  EXPECT_EQ(Structure("#default"), "#default");
  const Contraction contraction = ParseContraction("O[$I : N] = +(A[$i])");
  EXPECT_EQ(Structure(*contraction.output.indices[0]), "$I");
  EXPECT_EQ(Structure(*contraction.inputs[0].indices[0]), "i");
}

TEST(Parser, SkipsComments) {
  EXPECT_EQ(Structure("A // the rest ; of the line\n + /* a * b ** / */ B /**/"), "add(A, B)");
}

TEST(Parser, ReadsAttributes) {
  const Function function =
      MustParse("function (A) -> (B) { [[pid(conv, Layer1)]] [[hot]] B = A; }");
  const std::vector<Attribute>& attributes = function.statements[0].attributes;
  ASSERT_EQ(attributes.size(), 2);
  EXPECT_EQ(attributes[0].name, "pid");
  EXPECT_THAT(attributes[0].arguments, ElementsAre("conv", "Layer1"));
  EXPECT_EQ(attributes[1].name, "hot");
  EXPECT_THAT(attributes[1].arguments, IsEmpty());
}

TEST(Parser, KnowsThePositionOfOperatorsAndStatements) {
  const Function function = MustParse("function (A) -> (B) {\n  B = A +\n      A;\n}");
  EXPECT_EQ(function.statements[0].position.line, 2);
  EXPECT_EQ(function.statements[0].position.column, 3);
  const auto& value = std::get<Assignment>(function.statements[0].node).value;
  EXPECT_EQ(value->position.line, 2);
  EXPECT_EQ(value->position.column, 9);
}

TEST(Parser, PointsAtTheErrorWithACaret) {
  EXPECT_EQ(Error("function (A) -> (B) {\n\tB = A +;\n}"),
            "f.tile:2:9: unexpected ';': expected an expression\n"
            "    \tB = A +;\n"
            "    \t       ^");
}

TEST(Parser, GoesOnAfterAnErrorAtTheNextStatement) {
  const std::string message = Error("function (A) -> (D) {\n  B = A +;\n  C = A;\n  D = * C;\n}");
  EXPECT_THAT(message, HasSubstr("f.tile:2:10: unexpected ';'"));
  EXPECT_THAT(message, HasSubstr("f.tile:4:7: unexpected '*'"));
}

TEST(Parser, StopsAfterTenErrors) {
  std::string text = "function (A) -> (B) {\n";
  for (int i = 0; i < 30; ++i) text += "  B = +;\n";
  const std::string message = Error(text + "}\n");
  const std::vector<std::string> lines = absl::StrSplit(message, '\n');
  EXPECT_EQ(lines.size(), 30);  // ten messages of three lines
}

TEST(Parser, RefusesBytesThatAreNoText) {
  EXPECT_THAT(Error(absl::string_view("function (A) -> (B) { B = A \0; }", 32)),
              HasSubstr("the byte 0x00 is not a character of Tile"));
  EXPECT_THAT(Error("function (A) -> (B) { B = A \x01; }"), HasSubstr("the byte 0x01"));
}

TEST(Parser, AnswersDeepNestingWithAnError) {
  for (const absl::string_view prefix : {"(", "-", "!", "exp(", "A ? A : ", "A[", "A + ("}) {
    std::string expr;
    for (int i = 0; i < 100000; ++i) absl::StrAppend(&expr, prefix);
    EXPECT_THAT(Error(absl::StrCat("function (A) -> (B) { B = ", expr, "A; }")),
                ::testing::AnyOf(HasSubstr("nested too deeply"), HasSubstr("has no indices")));
  }
}

TEST(Parser, AcceptsNestingThatPeopleWrite) {
  std::string expr = "A";
  for (int i = 0; i < 200; ++i) expr = absl::StrCat("(", expr, " + 1)");
  EXPECT_TRUE(Parse(absl::StrCat("function (A) -> (B) { B = ", expr, "; }")).ok());
}

TEST(Parser, ReadsManyStatements) {
  std::string text = "function (A0[N]) -> (A20000) {\n";
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, "  A", i + 1, " = A", i, " * 2 + 1;\n");
  const Function function = MustParse(text + "}\n");
  EXPECT_EQ(function.statements.size(), 20000);
}

TEST(Parser, MayRunInManyThreads) {
  std::vector<std::thread> threads;
  std::vector<int> parsed(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &parsed] {
      for (int i = 0; i < 50; ++i) {
        const std::string good = absl::StrCat("function (A) -> (B) { B = A + ", t * 100 + i, "; }");
        const absl::StatusOr<Function> function = Parse(good);
        const bool failed = Parse("function (A) -> (B) { B = ; }").ok();
        if (function.ok() && !failed &&
            Print(*function).find(absl::StrCat(t * 100 + i)) != std::string::npos) {
          ++parsed[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(parsed, ElementsAre(50, 50, 50, 50));
}

}  // namespace
}  // namespace tartan::lang
