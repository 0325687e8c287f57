// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/binder.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DataType kFloat32 = DataType::kFloat32;

TensorShape Float(std::vector<int64_t> dims) { return {kFloat32, std::move(dims)}; }

ir::Program MustBind(const std::string& text, const std::vector<TensorShape>& shapes) {
  absl::StatusOr<ir::Program> program = ParseAndBind(text, shapes);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : ir::Program{};
}

std::string Error(const std::string& text, const std::vector<TensorShape>& shapes) {
  const absl::StatusOr<ir::Program> program = ParseAndBind(text, shapes);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(program.status().message());
}

const ir::Value& Output(const ir::Program& program, size_t i = 0) {
  return program.values[program.outputs.at(i)];
}

const ir::Contraction& OutputContraction(const ir::Program& program) {
  return std::get<ir::Contraction>(Output(program).op);
}

// The only constant that the first output reads.
ir::Constant ReadConstant(const ir::Program& program) {
  for (const ir::ValueId id : ir::Operands(Output(program).op)) {
    if (const auto* constant = std::get_if<ir::Constant>(&program.values[id].op)) return *constant;
  }
  ADD_FAILURE() << "no constant in\n" << ir::ToString(program);
  return {};
}

// The shape of O in a function of A[N] with the statements given.
std::string OutputShape(const std::string& statements, int64_t n = 7) {
  return Output(MustBind("function (A[N]) -> (O) { " + statements + " }", {Float({n})}))
      .shape.ToString();
}

TEST(CheckConstraints, AllowsWhatIsEmptyByItsSizes) {
  const auto check = [](const std::string& body, int64_t n) {
    const Function function = Parse("function (A[N]) -> (O) { " + body + " }").value();
    return CheckConstraints(function, std::vector<TensorShape>{Float({n})});
  };
  EXPECT_FALSE(check("O[i : N] = +(A[i]), i - 9 < 3;", 9).ok());
  EXPECT_TRUE(check("O[i : N] = +(A[i]), i - 9 < 3;", 10).ok());
  EXPECT_TRUE(check("O[i : N] = +(A[i]), i - 9 < 3;", 0).ok());
  EXPECT_TRUE(check("O[i : 2] = +(A[k]), i - k < 3;", 0).ok());
  EXPECT_TRUE(check("O[i : N] = +(A[i + k]), k < N - 5;", 5).ok());
  EXPECT_FALSE(check("O[i : N] = +(A[i + k]), k < N - 5;", 4).ok());
  EXPECT_FALSE(check("O[2*i : N] = +(A[2*i + k]), k < 1, 2*i + k - 3 < 1;", 9).ok());
  EXPECT_TRUE(check("O[2*i : N] = +(A[2*i + k]), k < 2, 2*i + k - 3 < 1;", 9).ok());
  // All that is read is outside: padding.
  EXPECT_TRUE(check("O[i : N] = +(A[i + 5]), i < N;", 5).ok());
}

TEST(Bind, MakesAContractionOfConcreteSizes) {
  const ir::Program program =
      MustBind("function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
               {Float({2, 3}), Float({3, 4})});
  EXPECT_EQ(Output(program).shape.ToString(), "float32[2, 4]");
  EXPECT_EQ(Output(program).name, "C");
  const ir::Contraction& contraction = OutputContraction(program);
  EXPECT_THAT(contraction.index_names, ElementsAre("i", "j", "k"));
  EXPECT_EQ(contraction.aggregation, Aggregation::kSum);
  EXPECT_EQ(contraction.combination, Combination::kMultiply);
  ASSERT_EQ(contraction.inputs.size(), 2);
  EXPECT_EQ(contraction.inputs[1].indices[0].ToString(contraction.index_names), "k");
  EXPECT_THAT(program.output_names, ElementsAre("C"));
}

TEST(Bind, NamesIntermediateValuesAfterTheirTarget) {
  const ir::Program program =
      MustBind("function (A) -> (O) { O_1 = A * A; O = exp(A + O_1) * A; }", {Float({3})});
  std::vector<std::string> names;
  for (const ir::Value& value : program.values) names.push_back(value.name);
  EXPECT_THAT(names, ElementsAre("A", "O_1", "O_2", "O_3", "O"));
}

TEST(Bind, ComputesSizesExactly) {
  EXPECT_EQ(OutputShape("O[i : (N + 1) / 2] = +(A[i]);"), "float32[4]");
  EXPECT_EQ(OutputShape("O[i : N % 4 + 1] = +(A[i]);"), "float32[4]");
  EXPECT_EQ(OutputShape("O[i : max(N - 9, 0)] = +(A[i]);"), "float32[0]");
  EXPECT_EQ(OutputShape("O[i : N > 5 ? 2 : 3] = +(A[i]);"), "float32[2]");
  EXPECT_EQ(OutputShape("O[i : ceil(N / 2.0)] = +(A[i]);"), "float32[4]");
  EXPECT_EQ(OutputShape("O[i : 1 << 3] = +(A[i]);"), "float32[8]");
}

TEST(Bind, LetsAnAssignmentNameASize) {
  EXPECT_EQ(OutputShape("_T1 = 3; M = _T1 * 2 - 1; O[i : M] = +(A[i - _T1]);"), "float32[5]");
}

TEST(Bind, ReadsSizesInElementwiseExpressionsAsNumbers) {
  const ir::Program program = MustBind("function (A[N]) -> (O) { O = A / N; }", {Float({7})});
  EXPECT_EQ(Output(program).shape.type, kFloat32);
  EXPECT_EQ(ReadConstant(program), (ir::Constant{int64_t{7}, true}));
}

TEST(Bind, KeepsLiteralsWeak) {
  const TensorShape half{DataType::kFloat16, {3}};
  EXPECT_EQ(Output(MustBind("function (A) -> (O) { O = A * 0.5; }", {half})).shape, half);
  EXPECT_EQ(Output(MustBind("function (A) -> (O) { O = A * (1.0 / 3); }", {half})).shape, half);
  EXPECT_EQ(Output(MustBind("function (A) -> (O) { O = 2 - A; }", {half})).shape, half);
  const TensorShape bytes{DataType::kInt8, {3}};
  EXPECT_EQ(Output(MustBind("function (A) -> (O) { O = A + 1; }", {bytes})).shape, bytes);
}

TEST(Bind, KeepsFloatLiteralsInDoublePrecision) {
  const ir::Program program =
      MustBind("function (A) -> (O) { O = A + 0.1; }", {{DataType::kFloat64, {3}}});
  EXPECT_EQ(ReadConstant(program), (ir::Constant{0.1, true}));
}

TEST(Bind, GivesACastLiteralItsType) {
  const ir::Program program =
      MustBind("function (A) -> (O) { O = A * as_float(2, 32); }", {{DataType::kFloat16, {3}}});
  EXPECT_EQ(Output(program).shape.type, kFloat32);
  EXPECT_FALSE(ReadConstant(program).weak);
}

TEST(Bind, CastsTensors) {
  const auto type = [](const std::string& call) {
    return Output(MustBind("function (A) -> (O) { O = " + call + "; }", {Float({3})})).shape.type;
  };
  EXPECT_EQ(type("as_float(A, 16)"), DataType::kFloat16);
  EXPECT_EQ(type("as_float(A, 64)"), DataType::kFloat64);
  EXPECT_EQ(type("as_bfloat(A)"), DataType::kBFloat16);
  EXPECT_EQ(type("as_int(A, 8)"), DataType::kInt8);
  EXPECT_EQ(type("as_int(A, 64)"), DataType::kInt64);
  EXPECT_EQ(type("as_uint(A, 16)"), DataType::kUInt16);
  EXPECT_EQ(type("as_bool(A)"), DataType::kBool);
  EXPECT_EQ(type("as_bool(3)"), DataType::kBool);
  EXPECT_EQ(type("3 > 2"), DataType::kBool);
}

TEST(Bind, TakesTheBranchOfAConditionKnownAtCompileTime) {
  const ir::Program program =
      MustBind("function (A[N]) -> (O) { B = exp(A); O = N > 5 ? A : B; }", {Float({7})});
  EXPECT_EQ(program.outputs, program.inputs);
  EXPECT_EQ(program.values.size(), 1);  // exp is not needed
}

TEST(Bind, MakesAnAliasOfAPlainAssignment) {
  const ir::Program program = MustBind("function (A) -> (O, P) { O = A; P = O; }", {Float({7})});
  EXPECT_THAT(program.outputs, ElementsAre(program.inputs[0], program.inputs[0]));
  EXPECT_THAT(program.output_names, ElementsAre("O", "P"));
}

TEST(Bind, GivesAnInputOfAnyRankWithoutSizes) {
  EXPECT_EQ(MustBind("function (A) -> (O) { O = -A; }", {Float({})}).values.size(), 2);
  EXPECT_EQ(MustBind("function (A) -> (O) { O = -A; }", {Float({2, 3, 4, 5, 6})}).values.size(), 2);
}

TEST(Bind, DropsEscapesOfNames) {
  const ir::Program program = MustBind("function (#x) -> (#y) { #y = -#x; }", {Float({3})});
  EXPECT_EQ(program.values[0].name, "x");
  EXPECT_THAT(program.output_names, ElementsAre("y"));
}

TEST(Bind, PassesTheFlagsOfInputs) {
  const absl::StatusOr<Function> function = Parse("function (A, B) -> (O) { O = A + B; }");
  ASSERT_TRUE(function.ok());
  BindOptions options;
  options.inputs = {{false, true, 0}, {true}};
  const absl::StatusOr<ir::Program> program = Bind(*function, {Float({3}), Float({3})}, options);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(std::get<ir::Input>(program->values[program->inputs[0]].op).is_state);
  EXPECT_EQ(std::get<ir::Input>(program->values[program->inputs[0]].op).next, 0);
  EXPECT_TRUE(std::get<ir::Input>(program->values[program->inputs[1]].op).is_constant);
  options.inputs.pop_back();
  EXPECT_FALSE(Bind(*function, {Float({3}), Float({3})}, options).ok());
}

TEST(Bind, ReadsRationalPolynomials) {
  const ir::Program program = MustBind(
      "function (A[N]) -> (O) { O[i : 3 * N] = +(A[1/3*i - 2*k/3]), k < 2; }", {Float({4})});
  const ir::Contraction& contraction = OutputContraction(program);
  EXPECT_EQ(contraction.inputs[0].indices[0].coefficient(0), math::Rational(1, 3));
  EXPECT_EQ(contraction.inputs[0].indices[0].coefficient(1), math::Rational(-2, 3));
}

TEST(Bind, ReadsSizesInPolynomials) {
  const ir::Program program =
      MustBind("function (A[N]) -> (O) { O[N - 1 - i : N] = +(A[i]); }", {Float({4})});
  EXPECT_EQ(OutputContraction(program).output.indices[0].ToString({"i"}), "-i + 3");
}

TEST(Bind, TurnsANegativeBoundIntoAnEmptySet) {
  const ir::Program program =
      MustBind("function (A[N]) -> (O) { O[i : N] = +(A[i + k]), k < N - 9; }", {Float({4})});
  EXPECT_EQ(OutputContraction(program).constraints[0].range, 0);
}

TEST(Bind, AcceptsAssignmentsThatArePermutations) {
  EXPECT_TRUE(
      ParseAndBind("function (A[M, N]) -> (O) { O[j, i : N, M] = =(A[i, j]); }", {Float({2, 3})})
          .ok());
  EXPECT_TRUE(
      ParseAndBind("function (A[M, N]) -> (O) { O[N*i + j : M*N] = =(A[i, j]); }", {Float({2, 3})})
          .ok());
  EXPECT_TRUE(
      ParseAndBind("function (A[M, 1]) -> (O) { O[i : M] = =(A[i, j]); }", {Float({2, 1})}).ok());
}

TEST(Bind, AcceptsTheSpecialFunctions) {
  const std::vector<TensorShape> shapes = {Float({4, 3}), {DataType::kInt64, {4, 3}}};
  const auto shape = [&](const std::string& call) {
    return Output(MustBind("function (A, I) -> (O) { O = " + call + "; }", shapes))
        .shape.ToString();
  };
  EXPECT_EQ(shape("reshape(A, 2, 6)"), "float32[2, 6]");
  EXPECT_EQ(shape("index(A, 1)"), "int32[4, 3]");
  EXPECT_EQ(shape("shape(A)"), "int32[2]");
  EXPECT_EQ(shape("gather(A, I)"), "float32[4, 3, 3]");
  EXPECT_EQ(shape("gather(A, I, -1)"), "float32[4, 4, 3]");
  EXPECT_EQ(shape("gather_elements(A, I, 1)"), "float32[4, 3]");
  EXPECT_EQ(shape("scatter_elements(A, I, A, 0, 1)"), "float32[4, 3]");
  EXPECT_EQ(shape("sort(A, -1, 1)"), "float32[4, 3]");
  EXPECT_EQ(shape("argsort(A, 0)"), "int64[4, 3]");
  EXPECT_EQ(shape("argsort(A, 0, 1, 0)"), "int64[4, 3]");
  EXPECT_EQ(shape("argsort(A, 1, 1, 2)"), "int64[4, 2]");
  EXPECT_EQ(shape("cumsum(A, 0, 1, 1)"), "float32[4, 3]");
  EXPECT_EQ(shape("cumprod(A, 0)"), "float32[4, 3]");
  EXPECT_EQ(shape("prng(as_uint(7, 32), 5, 2)"), "float32[5, 2]");
  EXPECT_EQ(shape("mad(A, A, 1)"), "float32[4, 3]");
  EXPECT_EQ(shape("select(A > 0, A, 0)"), "float32[4, 3]");
  EXPECT_EQ(shape("element(tuple(A, I), 1)"), "int64[4, 3]");
}

TEST(Bind, RefusesMorePositionsThanALineHas) {
  const std::string text = "function (A) -> (O) { O = argsort(A, 0, 1, 5); }";
  EXPECT_THAT(Error(text, {Float({4, 3})}), HasSubstr("a line has 4 elements, not 5"));
}

TEST(Bind, AcceptsAnAssertionThatHolds) {
  EXPECT_EQ(OutputShape("T = assert_odd(N % 2 == 1); O = A;"), "float32[7]");
}

TEST(Bind, ReportsWithoutAPlaceForAHandMadeTree) {
  Function function;
  function.outputs = {"O"};
  const absl::StatusOr<ir::Program> program = Bind(function, {});
  EXPECT_EQ(program.status().message(), "tile: the output 'O' is never assigned");
}

TEST(Bind, ShowsTheLineOfTheError) {
  EXPECT_EQ(Error("function (A) -> (O) {\n  O = sqr(A);\n}", {Float({3})}),
            "test.tile:2:7: there is no function 'sqr': did you mean 'sqrt'?\n"
            "      O = sqr(A);\n"
            "          ^");
}

TEST(Bind, TakesManyStatements) {
  std::string text = "function (A0[N]) -> (A10000) {\n";
  for (int i = 0; i < 10000; ++i) {
    absl::StrAppend(&text, "  A", i + 1,
                    i % 2 == 0 ? absl::StrCat(" = A", i, " * 2 + 1;\n")
                               : absl::StrCat("[i : N] = +(A", i, "[i]);\n"));
  }
  const ir::Program program = MustBind(text + "}\n", {Float({8})});
  EXPECT_GE(program.values.size(), 10000);
}

}  // namespace
}  // namespace tartan::lang
