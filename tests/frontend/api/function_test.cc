// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/function.h"

#include <thread>

#include "frontend/api/checks/check_constraints.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/after_forks.h"

namespace tartan::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Floats(std::vector<int64_t> dims) {
  return Tensor::Placeholder("x", {DataType::kFloat32, std::move(dims)});
}

TEST(Function, GivesShapesAndTypesOfItsOutputs) {
  const Function function = Function::FromTile(
                                "function (A[M, L], B[L, N]) -> (C, Z) {"
                                "  C[i, j : M, N] = +(A[i, k] * B[k, j]); Z = C == 0; }")
                                .value();
  const auto results = function.Apply({Floats({2, 3}), Floats({3, 5})}, "dense");
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].shape().ToString(), "float32[2, 5]");
  EXPECT_EQ((*results)[1].shape().ToString(), "bool[2, 5]");
  EXPECT_TRUE((*results)[0].node() == (*results)[1].node());
}

TEST(Function, ParsesEachTextOnce) {
  const std::string text = "function (A) -> (B) { B = A + 17; }";
  EXPECT_EQ(&Function::FromTile(text)->ast(), &Function::FromTile(text)->ast());
}

TEST(Function, OfATreeShowsTheTextThatTheTreeWasMadeFrom) {
  const std::string text = "function (A[N]) -> (B) {\n  B = A + 17;\n}";
  lang::Function tree = Function::FromTile(text)->ast();
  tree.inputs[0].dims = {"3"};
  const auto made = Function::FromTree(tree, text);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(&made->ast(), &Function::FromTree(tree, text)->ast());
  EXPECT_NE(&made->ast(), &Function::FromTile(text)->ast());
  const auto wrong = made->Apply({Floats({2})});
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("function (A[N]) -> (B) {"));
  const auto results = made->Apply({Floats({3})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].shape().ToString(), "float32[3]");
}

TEST(Function, SaysWhereTheTextIsWrong) {
  const auto function = Function::FromTile("function (A) -> (B) { B = A + ; }");
  EXPECT_EQ(function.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(function.status().message()), HasSubstr("1:31"));
}

TEST(Function, IsReadFromAFile) {
  const auto function = Function::FromFile("examples/tile/matmul.tile");
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_THAT(function->input_names(), ElementsAre("A", "B"));
  EXPECT_THAT(function->output_names(), ElementsAre("C"));
  EXPECT_EQ(function->file(), "examples/tile/matmul.tile");
  const auto wrong = function->Apply({Floats({2, 3}), Floats({4, 5})});
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("examples/tile/matmul.tile:"));
}

TEST(Function, SaysWhichFileCannotBeRead) {
  const auto missing = Function::FromFile("no/such.tile");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("no/such.tile"));
  EXPECT_EQ(Function::FromFile("examples").status().code(), absl::StatusCode::kUnavailable);
}

TEST(Function, NamesInputsWithoutTheirEscapes) {
  const auto function = Function::FromTile("function (#x) -> (#y) { #y = #x; }");
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_THAT(function->input_names(), ElementsAre("x"));
  EXPECT_THAT(function->output_names(), ElementsAre("y"));
}

TEST(Function, SaysWhichShapesDoNotFit) {
  const auto result =
      Apply("function (A[N], B[N]) -> (C) { C = A + B; }", {Floats({2}), Floats({3})});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("'N' is 2"));
}

TEST(Function, RefusesMissingAndUndefinedInputs) {
  const std::string text = "function (A, B) -> (C) { C = A + B; }";
  EXPECT_FALSE(Apply(text, {Floats({2})}).ok());
  const auto result = Apply(text, {Floats({2}), Tensor()});
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("'B'"));
}

TEST(Function, TakesScalarIntegersThatAreKnownAsSizes) {
  const std::string text = "function (I, D) -> (O) { O[i : D] = +(I[i + k]), k < D - 1; }";
  const auto number = [](int32_t value) {
    return HostTensor::FromVector<int32_t>({DataType::kInt32, {}}, {value});
  };
  for (const Tensor& size : {Tensor::Constant(number(3)), Tensor::Leaf(number(3))}) {
    const auto result = Apply(text, {Floats({7}), size});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->dims(), ElementsAre(3));
  }
  // A value computed from constants counts as known.
  const auto half = Apply("function (D) -> (H) { H = D / 2; }", {Tensor::Constant(number(9))});
  ASSERT_TRUE(half.ok()) << half.status();
  EXPECT_THAT(Apply(text, {Floats({7}), *half})->dims(), ElementsAre(4));
  const Tensor unknown = Tensor::Placeholder("D", {DataType::kInt32, {}});
  const auto refused = Apply(text, {Floats({7}), unknown});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("must be known at compile time"));
}

TEST(Function, TakesAScalarOfASizesNameThatIsTheSame) {
  const std::string text = "function (I[N], N) -> (O) { O[i : N + 1] = +(I[i]); }";
  const auto number = [](int32_t value) {
    return Tensor::Leaf(HostTensor::FromVector<int32_t>({DataType::kInt32, {}}, {value}));
  };
  const auto result = Apply(text, {Floats({7}), number(7)});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->dims(), ElementsAre(8));
  const Tensor unknown = Tensor::Placeholder("N", {DataType::kInt32, {}});
  for (const Tensor& wrong : {number(6), unknown}) {
    EXPECT_THAT(std::string(Apply(text, {Floats({7}), wrong}).status().message()),
                HasSubstr("'N' is already a size in line 1"));
  }
  // Only a scalar constant can be a size.
  EXPECT_THAT(Apply(text, {Floats({7}), Floats({3})})->dims(), ElementsAre(8));
}

TEST(Function, IsCheckedForConstraintsThatNoIndexSatisfies) {
  const auto function =
      Function::FromTile("function (I[N]) -> (O) { O[i : N] = +(I[i]), i - 9 < 3; }");
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_TRUE(CheckConstraints(*function, {Floats({10})}).ok());
  const absl::Status status = CheckConstraints(*function, {Floats({9})});
  EXPECT_THAT(std::string(status.message()), HasSubstr("no index satisfies this constraint"));
}

TEST(Function, ApplyWantsOneOutput) {
  EXPECT_FALSE(Apply("function (A) -> (B, C) { B = A; C = -A; }", {Floats({2})}).ok());
}

TEST(Function, MayBeMadeFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const auto result =
            Apply("function (A) -> (B) { B = A + " + std::to_string(i + t) + "; }", {Floats({2})});
        EXPECT_TRUE(result.ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The text is long, so that the other thread looks for it in the cache most of the time.
TEST(Function, MayBeMadeAfterAForkWhileAnotherThreadMadeOne) {
  const std::string text = "function (A) -> (B) { B = A + " + std::string(1 << 20, ' ') + "A; }";
  CallAfterForks(20, [&] { return Function::FromTile(text).ok(); });
}

TEST(Function, MayBeAppliedAfterAForkWhileAnotherThreadAppliedOne) {
  const auto function = Function::FromTile("function (A) -> (B) { B = A + A; }");
  ASSERT_TRUE(function.ok());
  const std::vector<Tensor> inputs = {
      Tensor::Placeholder("x", {DataType::kFloat32, std::vector<int64_t>(200, 1)})};
  CallAfterForks(100, [&] { return function->Apply(inputs).ok(); });
}

}  // namespace
}  // namespace tartan::api
