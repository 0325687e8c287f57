// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/composer.h"

#include <cmath>

#include "frontend/api/function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NanSensitiveDoubleEq;

template <class T>
Tensor Const(DataType type, std::vector<int64_t> dims, const std::vector<T>& values,
             std::string name = "") {
  return Tensor::Constant(HostTensor::FromVector<T>({type, std::move(dims)}, values),
                          std::move(name));
}

Tensor Input(std::string name, std::vector<int64_t> dims) {
  return Tensor::Placeholder(std::move(name), {DataType::kFloat32, std::move(dims)});
}

Tensor Call(absl::string_view text, absl::Span<const Tensor> inputs, absl::string_view name = "") {
  auto result = Apply(text, inputs, name);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : Tensor();
}

// Parses the composed text and runs it with `values` for the placeholders, in order.
absl::StatusOr<std::vector<HostTensor>> RunComposed(const ComposedProgram& composed,
                                                    const std::vector<HostTensor>& values) {
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(composed.program.code()));
  EXPECT_TRUE(lang::Equal(function, *composed.tree)) << composed.program.code();
  std::vector<TensorShape> shapes;
  std::vector<HostTensor> inputs;
  size_t next = 0;
  for (const Tensor& input : composed.inputs) {
    shapes.push_back(input.shape());
    inputs.push_back(input.constant() != nullptr ? *input.constant() : values[next++]);
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(function, shapes));
  return ir::EvaluateNaively(program, inputs);
}

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

constexpr absl::string_view kAdd = "function (A, B) -> (C) { C = A + B; }";
constexpr absl::string_view kMatMul =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";

TEST(Compose, InlinesEachApplicationOnce) {
  const Tensor x = Input("x", {2});
  const Tensor twice = Call(kAdd, {x, x}, "twice");
  const Tensor four = Call(kAdd, {twice, twice}, "four");
  const auto composed = Compose({x}, {four, twice}, "shared");
  ASSERT_TRUE(composed.ok());
  EXPECT_EQ(composed->program.name(), "shared");
  const std::string& code = composed->program.code();
  EXPECT_EQ(code.find("X + X"), code.rfind("X + X")) << code;
  EXPECT_THAT(code, HasSubstr("Four = Twice + Twice;"));
  const auto results = RunComposed(*composed, {Floats({2}, {1, 2})});
  ASSERT_TRUE(results.ok()) << results.status() << code;
  EXPECT_THAT((*results)[0].ToDoubles(), ElementsAre(4, 8));
  EXPECT_THAT((*results)[1].ToDoubles(), ElementsAre(2, 4));
}

TEST(Compose, ListsPlaceholdersFirstWhetherUsedOrNot) {
  const Tensor x = Input("x", {2});
  const Tensor unused = Input("unused", {3});
  const Tensor w = Const<float>(DataType::kFloat32, {2}, {10, 20}, "w");
  const auto composed = Compose({unused, x}, {Call(kAdd, {w, Call(kAdd, {x, w})})});
  ASSERT_TRUE(composed.ok());
  ASSERT_EQ(composed->inputs.size(), 3u);  // the constant appears once
  EXPECT_TRUE(composed->inputs[0] == unused);
  EXPECT_TRUE(composed->inputs[1] == x);
  EXPECT_TRUE(composed->inputs[2] == w);
  EXPECT_FALSE(composed->program.inputs(1).is_constant());
  EXPECT_TRUE(composed->program.inputs(2).is_constant());
  EXPECT_EQ(composed->program.inputs(2).name(), "W");
  EXPECT_EQ(composed->program.inputs(2).shape().dims(0), 2);
  const auto results = RunComposed(*composed, {Floats({3}, {0, 0, 0}), Floats({2}, {1, 2})});
  EXPECT_THAT((*results)[0].ToDoubles(), ElementsAre(21, 42));
}

TEST(Compose, OutputsMayBeInputsConstantsOrRepeated) {
  const Tensor x = Input("x", {1});
  const Tensor w = Const<float>(DataType::kFloat32, {1}, {5});
  const Tensor scalar = Const<float>(DataType::kFloat32, {}, {7});
  const auto composed = Compose({x}, {x, w, scalar, x});
  ASSERT_TRUE(composed.ok());
  const auto results = RunComposed(*composed, {Floats({1}, {3})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT((*results)[0].ToDoubles(), ElementsAre(3));
  EXPECT_THAT((*results)[1].ToDoubles(), ElementsAre(5));
  EXPECT_THAT((*results)[2].ToDoubles(), ElementsAre(7));
  EXPECT_THAT((*results)[3].ToDoubles(), ElementsAre(3));
}

TEST(Compose, KeepsNamesApart) {
  const Tensor a = Input("same", {1});
  const Tensor b = Input("same", {1});
  const Tensor c = Call(kAdd, {Call(kAdd, {a, b}, "same"), b}, "same");
  const auto composed = Compose({a, b}, {c});
  const auto results = RunComposed(*composed, {Floats({1}, {1}), Floats({1}, {10})});
  ASSERT_TRUE(results.ok()) << results.status() << composed->program.code();
  EXPECT_THAT((*results)[0].ToDoubles(), ElementsAre(21));
}

TEST(Compose, AFunctionMayUseOneNameForASizeInEveryCall) {
  const Tensor x = Input("x", {2, 3});
  const Tensor square = Call(kMatMul, {Call(kMatMul, {x, Input("y", {3, 2})}), x});
  EXPECT_EQ(square.shape().ToString(), "float32[2, 3]");
  const auto composed = Compose(PlaceholdersOf(square), {square});
  ASSERT_EQ(composed->inputs.size(), 2u);
  EXPECT_TRUE(lang::Parse(composed->program.code()).ok());
}

template <class T>
HostTensor ThroughComposition(DataType type, T value) {
  const Tensor x = Input("x", {});
  const Tensor scalar = Const<T>(type, {}, {value});
  const auto composed =
      Compose({x}, {Call("function (X, S) -> (Y) { Y[] = +(S[]); }", {x, scalar})});
  EXPECT_EQ(composed->inputs.size(), 1u) << "the scalar became an input";
  const auto results = RunComposed(*composed, {Floats({}, {0})});
  EXPECT_TRUE(results.ok()) << results.status() << composed->program.code();
  EXPECT_EQ(results->front().type(), type);
  return results->front();
}

TEST(Compose, ScalarsBecomeLiteralsWithoutLosingABit) {
  for (const float value : {0.1f, -1e-42f, 3.4028235e38f, INFINITY, -INFINITY, NAN, -0.5f}) {
    EXPECT_THAT(ThroughComposition<float>(DataType::kFloat32, value).GetDouble(0),
                NanSensitiveDoubleEq(value));
  }
  EXPECT_TRUE(std::signbit(ThroughComposition<float>(DataType::kFloat32, -0.0f).GetDouble(0)));
  EXPECT_EQ(ThroughComposition<double>(DataType::kFloat64, 0.1).GetDouble(0), 0.1);
  EXPECT_EQ(ThroughComposition<int8_t>(DataType::kInt8, -128).GetInt(0), -128);
  EXPECT_EQ(ThroughComposition<int64_t>(DataType::kInt64, INT64_MAX).GetInt(0), INT64_MAX);
  EXPECT_EQ(ThroughComposition<uint8_t>(DataType::kBool, 1).GetInt(0), 1);
  EXPECT_EQ(ThroughComposition<uint16_t>(DataType::kFloat16, 0x2E66).GetDouble(0), 0.0999755859375);
  EXPECT_EQ(ThroughComposition<uint16_t>(DataType::kBFloat16, 0x3DCD).GetDouble(0), 0.10009765625);
}

TEST(Compose, ExtremeIntegersSurviveToo) {
  const Tensor x = Input("x", {});
  const Tensor least = Const<int64_t>(DataType::kInt64, {}, {INT64_MIN});
  const Tensor most = Const<uint64_t>(DataType::kUInt64, {}, {UINT64_MAX});
  const auto composed = Compose({x}, {least, most});
  const auto results = RunComposed(*composed, {Floats({}, {0})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].GetInt(0), INT64_MIN);
  EXPECT_EQ((*results)[1].GetDouble(0), 18446744073709551615.0);
}

TEST(Compose, HandlesChainsOfAHundredThousandNodes) {
  const Tensor x = Input("x", {1});
  const Tensor one = Const<float>(DataType::kFloat32, {}, {1});
  const Function add = Function::FromTile(kAdd).value();
  Tensor sum = x;
  for (int i = 0; i < 100000; ++i) sum = add.Apply({sum, one})->front();
  const auto composed = Compose({x}, {sum});
  ASSERT_TRUE(composed.ok());
  const auto results = RunComposed(*composed, {Floats({1}, {0.5})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT((*results)[0].ToDoubles(), ElementsAre(100000.5));
  EXPECT_EQ(PlaceholdersOf(sum).size(), 1u);
}

TEST(EvaluateOnHost, ComputesSizeArithmetic) {
  const Tensor dims = Const<int64_t>(DataType::kInt64, {3}, {2, 3, 4});
  const Tensor product = Call("function (D[N]) -> (P) { P[] = *(D[i]); }", {dims});
  const auto value = EvaluateOnHost(product);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->type(), DataType::kInt64);
  EXPECT_EQ(value->GetInt(0), 24);
  EXPECT_EQ(EvaluateOnHost(dims)->ToInts(), (std::vector<int64_t>{2, 3, 4}));
}

TEST(EvaluateOnHost, RemembersWhatItComputed) {
  const Tensor dims = Const<int64_t>(DataType::kInt64, {3}, {2, 3, 4});
  const Tensor doubled = Call(kAdd, {dims, dims});
  const auto first = EvaluateOnHost(doubled);
  EXPECT_EQ(first->bytes().data(), EvaluateOnHost(doubled)->bytes().data());
  const auto composed = Compose({}, {Call(kAdd, {doubled, doubled})});
  ASSERT_EQ(composed->inputs.size(), 1u);
  EXPECT_THAT(composed->inputs[0].constant()->ToInts(), ElementsAre(4, 6, 8));
}

TEST(EvaluateOnHost, NamesThePlaceholderItDependsOn) {
  const Tensor c = Const<float>(DataType::kFloat32, {2}, {1, 2});
  const auto value = EvaluateOnHost(Call(kAdd, {c, Call(kAdd, {c, Input("tokens", {2})})}));
  EXPECT_EQ(value.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(value.status().message()), HasSubstr("'tokens'"));
}

TEST(EvaluateOnHost, RefusesLargeComputations) {
  const Tensor c = Const<float>(DataType::kFloat32, {4096}, std::vector<float>(4096, 1));
  const auto value = EvaluateOnHost(Call("function (A[N]) -> (O) { O[] = +(A[i] * A[j]); }", {c}));
  EXPECT_EQ(value.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(EvaluateOnHost, CountsIndexPointsOfAllTogether) {
  const Tensor c = Const<float>(DataType::kFloat32, {100}, std::vector<float>(100, 1));
  const Tensor sum = Call("function (A[N]) -> (O) { O[] = +(A[i]); }", {Call(kAdd, {c, c})});
  int64_t points = 250;
  ASSERT_TRUE(EvaluateOnHost(sum, &points).ok());
  EXPECT_EQ(points, 50);
  points = 150;  // enough for one of the two
  const Tensor again = Call("function (A[N]) -> (O) { O[] = +(A[i]); }", {Call(kAdd, {c, c})});
  EXPECT_EQ(EvaluateOnHost(again, &points).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(points, 0);
}

TEST(PlaceholdersOf, FindsEachOnce) {
  const Tensor x = Input("x", {1});
  const Tensor y = Input("y", {1});
  const Tensor w = Const<float>(DataType::kFloat32, {1}, {5});
  EXPECT_EQ(PlaceholdersOf(Call(kAdd, {Call(kAdd, {x, y}), Call(kAdd, {x, w})})).size(), 2u);
  EXPECT_TRUE(PlaceholdersOf(w).empty());
}

}  // namespace
}  // namespace tartan::api
