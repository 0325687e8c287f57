// SPDX-License-Identifier: Apache-2.0
// Tests of operators applied to lazy tensors, which are computed on request.
#include "frontend/onnx/model/single_node.h"

#include <thread>

#include "frontend/api/composer.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::onnx::single_node_test {
namespace {

using api::EagerRuntime;
using api::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector<int64_t>({DataType::kInt64, std::move(dims)}, values);
}

class SingleNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* const device =
        new absl::StatusOr<std::shared_ptr<api::Device>>(api::Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    runtime_ = std::make_unique<EagerRuntime>(**device);
  }

  std::vector<double> ValuesOf(const Tensor& tensor) {
    const auto values = runtime_->Evaluate({&tensor, 1});
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? (*values)[0].ToDoubles() : std::vector<double>();
  }

  std::unique_ptr<EagerRuntime> runtime_;
};

TEST_F(SingleNodeTest, AppliesAnOperatorWithItsAttributes) {
  const Tensor x = Tensor::Leaf(Floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto y = Apply({.name = "MaxPool",
                        .attributes = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                                       {"auto_pad", std::string("VALID")}}},
                       {x});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].dims(), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(ValuesOf((*y)[0]), ElementsAre(5, 6, 8, 9));
}

TEST_F(SingleNodeTest, LeavesOutOperands) {
  const Tensor x = Tensor::Leaf(Floats({3}, {-2, 0, 5}));
  const Tensor most = Tensor::Constant(Floats({}, {1}));
  const auto y = Apply({.name = "Clip"}, {x, Tensor(), most});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(ValuesOf((*y)[0]), ElementsAre(-2, 0, 1));
}

TEST_F(SingleNodeTest, TakesAttributesOfEveryType) {
  const auto filled = Apply({.name = "ConstantOfShape", .attributes = {{"value", Ints({1}, {7})}}},
                            {Tensor::Constant(Ints({2}, {1, 2}))});
  ASSERT_TRUE(filled.ok()) << filled.status();
  EXPECT_THAT(ValuesOf((*filled)[0]), ElementsAre(7, 7));
  const Tensor x = Tensor::Leaf(Floats({2}, {-1, 1}));
  const auto leaky = Apply({.name = "LeakyRelu", .attributes = {{"alpha", 0.5}}}, {x});
  ASSERT_TRUE(leaky.ok()) << leaky.status();
  EXPECT_THAT(ValuesOf((*leaky)[0]), ElementsAre(-0.5, 1));
}

TEST_F(SingleNodeTest, AsksForValuesThatDecideShapes) {
  const Tensor x = Tensor::Leaf(Floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto doubled =
      api::Apply("function (X) -> (Y) { Y = X * 3; }", {Tensor::Leaf(Ints({1}, {2}))});
  ASSERT_TRUE(doubled.ok()) << doubled.status();
  api::EagerResolver resolver(*runtime_);
  const auto y = Apply({.name = "Reshape"}, {x, *doubled}, &resolver);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].dims(), ElementsAre(6));
  const auto unknown = Apply({.name = "Reshape"}, {x, *doubled});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kFailedPrecondition) << unknown.status();
}

TEST_F(SingleNodeTest, RunsCallsWhoseResultsHaveSizesByValue) {
  const Tensor x = Tensor::Leaf(Floats({4}, {0, 3, 0, 5}));
  api::EagerResolver resolver(*runtime_);
  const auto y = Apply({.name = "NonZero"}, {x}, &resolver);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].dims(), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf((*y)[0]), ElementsAre(1, 3));
}

TEST_F(SingleNodeTest, NamesWhatIsWrong) {
  const Tensor x = Tensor::Leaf(Floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto unknown = Apply({.name = "Frobnicate"}, {x});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("Frobnicate"));
  const auto bad = Apply({.name = "MatMul"}, {x, x});
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument) << bad.status();
}

TEST_F(SingleNodeTest, ComputesGradients) {
  const Tensor x = Tensor::Leaf(Floats({2, 2}, {1, 2, 3, 4}));
  const auto y = Apply({.name = "ReduceSumSquare", .attributes = {{"keepdims", int64_t{0}}}}, {x});
  ASSERT_TRUE(y.ok()) << y.status();
  const auto gradient = api::Gradient((*y)[0], {x});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_THAT(ValuesOf((*gradient)[0]), ElementsAre(2, 4, 6, 8));
}

// Graphs of the same structure share a program and differ in its inputs.
TEST_F(SingleNodeTest, GraphsOfOneFormDifferInTheirLeaves) {
  const auto square = [](const Tensor& x) {
    return *api::Apply("function (X) -> (Y) { Y = X * X; }", {x});
  };
  EXPECT_THAT(ValuesOf(square(Tensor::Leaf(Floats({2}, {1, 2})))), ElementsAre(1, 4));
  EXPECT_THAT(ValuesOf(square(Tensor::Leaf(Floats({2}, {3, 4})))), ElementsAre(9, 16));
  EXPECT_THAT(ValuesOf(square(Tensor::Leaf(Floats({1}, {5})))), ElementsAre(25));
  // A graph with one leaf used twice differs from a graph with two leaves.
  const Tensor a = Tensor::Leaf(Floats({1}, {3}));
  const Tensor b = Tensor::Leaf(Floats({1}, {4}));
  constexpr char kProduct[] = "function (X, Y) -> (Z) { Z = X * Y; }";
  EXPECT_THAT(ValuesOf(*api::Apply(kProduct, {a, a})), ElementsAre(9));
  EXPECT_THAT(ValuesOf(*api::Apply(kProduct, {a, b})), ElementsAre(12));
  EXPECT_THAT(ValuesOf(*api::Apply(kProduct, {b, a})), ElementsAre(12));
}

TEST_F(SingleNodeTest, ConstantsTellGraphsApart) {
  const Tensor x = Tensor::Leaf(Floats({1}, {3}));
  constexpr char kSum[] = "function (X, Y) -> (Z) { Z = X + Y; }";
  for (const float number : {1.0f, 2.0f}) {
    const Tensor small = Tensor::Constant(Floats({1}, {number}));
    EXPECT_THAT(ValuesOf(*api::Apply(kSum, {x, small})), ElementsAre(3 + number));
    // The key identifies a large constant by its address.
    const Tensor large = Tensor::Constant(Floats({100}, std::vector<float>(100, number)));
    EXPECT_EQ(ValuesOf(*api::Apply(kSum, {x, large}))[99], 3 + number);
  }
}

TEST_F(SingleNodeTest, TellsPlaceholdersThatHaveNoValue) {
  const Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {2}});
  const auto y = api::Apply("function (X) -> (Y) { Y = X + 1; }", {x});
  ASSERT_TRUE(y.ok()) << y.status();
  const auto values = runtime_->Evaluate({*y});
  EXPECT_EQ(values.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(values.status().message()), HasSubstr("'x'"));
}

TEST_F(SingleNodeTest, ThreadsGetTheirOwnValues) {
  std::vector<std::thread> threads;
  std::vector<double> results(8);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const Tensor x = Tensor::Leaf(Floats({1}, {static_cast<float>(t)}));
        const auto y = api::Apply("function (X) -> (Y) { Y = X * 10 + 1; }", {x});
        results[t] = (*runtime_->Evaluate({*y}))[0].GetDouble(0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], 10.0 * t + 1);
}

TEST_F(SingleNodeTest, ForgetsWhatWasNotUsedLongest) {
  EagerRuntime small(runtime_->device(), {.max_programs = 2});
  for (int64_t size = 1; size <= 5; ++size) {
    const Tensor x = Tensor::Leaf(Floats({size}, std::vector<float>(size, 2)));
    const auto y = api::Apply("function (X) -> (Y) { Y = X * X; }", {x});
    const auto values = small.Evaluate({*y});
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_EQ((*values)[0].GetDouble(size - 1), 4);
  }
}

}  // namespace
}  // namespace tartan::onnx::single_node_test
