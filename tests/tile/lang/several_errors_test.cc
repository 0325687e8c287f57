// SPDX-License-Identifier: Apache-2.0
// The binder reports every independent error of a program, and none that only follows from another.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/tile_text.h"

namespace tartan::lang::several_errors_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The first line of each message.
std::vector<std::string> Errors(const std::string& text, const std::vector<TensorShape>& shapes) {
  const absl::Status status = ParseAndBind(text, shapes, "f.tile").status();
  std::vector<std::string> errors;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    if (line.substr(0, 7) == "f.tile:") errors.emplace_back(line);
  }
  return errors;
}

TensorShape Floats(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

TEST(SeveralErrors, OfStatementsAreAllReportedWithTheirPlaces) {
  EXPECT_THAT(Errors("function (A[N]) -> (D) {\n"
                     "  B = sqr(A);\n"
                     "  C[i : N] = +(A[i, i]);\n"
                     "  D = A + Missing;\n"
                     "}\n",
                     {Floats({3})}),
              ElementsAre(StartsWith("f.tile:2:7: there is no function 'sqr'"),
                          StartsWith("f.tile:3:16: 'A' is float32[3] and needs 1 index, not 2"),
                          StartsWith("f.tile:4:11: 'Missing' is not defined here")));
}

TEST(SeveralErrors, ThatFollowFromAnotherAreLeftOut) {
  EXPECT_THAT(Errors("function (A[N]) -> (E, F) {\n"
                     "  B = sqr(A);\n"
                     "  C = B + A;\n"
                     "  D[i : N] = +(C[i] * B[i, i]);\n"
                     "  E = exp(D, D);\n"
                     "  F = exp(A, A);\n"
                     "}\n",
                     {Floats({3})}),
              ElementsAre(StartsWith("f.tile:2:7:"), StartsWith("f.tile:6:7: exp takes 1")));
}

TEST(SeveralErrors, OfOneExpressionAndOneContractionAreAllReported) {
  EXPECT_THAT(Errors("function (A[N]) -> (B, C) {\n"
                     "  B = sqr(A) + cub(A);\n"
                     "  C[i : N / 0] = +(X[i] * A[2 * i * i]);\n"
                     "}\n",
                     {Floats({3})}),
              ElementsAre(StartsWith("f.tile:2:7:"), StartsWith("f.tile:2:16:"),
                          StartsWith("f.tile:3:11:"), HasSubstr("'X' is not defined here"),
                          HasSubstr("the index polynomial is not linear")));
}

TEST(SeveralErrors, OfInputsAndOutputsAreAllReported) {
  EXPECT_THAT(
      Errors("function (A[N, M], B[N], C[7]) -> (D, E) {\n"
             "  F = A * M;\n"
             "}\n",
             {Floats({3}), Floats({4}), Floats({4})}),
      ElementsAre(HasSubstr("'A' has 2 dimensions here"), HasSubstr("dimension 0 of 'C' must be 7"),
                  HasSubstr("the output 'D' is never assigned"),
                  HasSubstr("the output 'E' is never assigned")));
}

TEST(SeveralErrors, StopAfterTen) {
  std::string text = "function (A) -> (A) {\n";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "  B", i, " = sqr(A);\n");
  EXPECT_THAT(Errors(text + "}\n", {Floats({3})}), SizeIs(10));
}

}  // namespace
}  // namespace tartan::lang::several_errors_test
