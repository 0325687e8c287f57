// SPDX-License-Identifier: Apache-2.0
// Tests of operator calls by name, on the device.
#include "frontend/api/invoker.h"

#include <cmath>
#include <thread>

#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::api::invoker_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

class InvokerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* const device = new absl::StatusOr<std::shared_ptr<Device>>(Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    device_ = **device;
  }

  std::shared_ptr<Device> device_;
};

Function MatMul() {
  return Function::FromTile(
             "function (A[M, L], B[L, N]) -> (C, #rank) {"
             "  C[i, j : M, N] = +(A[i, k] * B[k, j]); #rank = 2; }")
      .value();
}

TEST_F(InvokerTest, CallsAFunctionByName) {
  const auto results = Invoke(device_, MatMul(),
                              {{"B", Floats({2, 2}, {1, 0, 1, 1})}, {"A", Floats({1, 2}, {3, 4})}});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_THAT(results->at("C").ToDoubles(), ElementsAre(7, 4));
  EXPECT_THAT(results->at("rank").ToDoubles(), ElementsAre(2));
}

TEST_F(InvokerTest, BindsExactSizes) {
  const auto invoker =
      Invoker::Create(device_, MatMul(),
                      {{"A", {DataType::kFloat32, {1, 2}}}, {"B", {DataType::kFloat32, {2, 2}}}});
  ASSERT_TRUE(invoker.ok()) << invoker.status();
  EXPECT_EQ(invoker->inputs()[1].name, "B");
  EXPECT_EQ(invoker->outputs()[0].name, "C");
  EXPECT_EQ(invoker->outputs()[0].tensor.shape().ToString(), "float32[1, 2]");
  const HostTensor a = Floats({1, 2}, {1, 1});
  const HostTensor b = Floats({2, 2}, {1, 2, 3, 4});
  RunStatistics statistics;
  const auto results = invoker->Run({{"A", a}, {"B", b}}, &statistics);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(results->at("C").ToDoubles(), ElementsAre(4, 6));
  EXPECT_GT(statistics.kernels, 0);

  const auto message = [&](const NamedTensors& inputs) {
    const auto result = invoker->Run(inputs);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_THAT(message({{"A", a}}), HasSubstr("input 'B' is missing: float32[2, 2]"));
  EXPECT_THAT(message({{"A", b}, {"B", b}}),
              HasSubstr("input 'A' is float32[2, 2], not float32[1, 2]"));
  EXPECT_THAT(message({{"A", a}, {"B", b}, {"C", b}}),
              HasSubstr("no input 'C'; the inputs are A, B"));
}

TEST_F(InvokerTest, RefusesShapesThatDoNotFitTheFunction) {
  const TensorShape square{DataType::kFloat32, {2, 2}};
  const auto message = [&](const NamedShapes& shapes) {
    const auto invoker = Invoker::Create(device_, MatMul(), shapes);
    EXPECT_EQ(invoker.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(invoker.status().message());
  };
  EXPECT_THAT(message({{"A", square}}), HasSubstr("'B'"));
  EXPECT_THAT(message({{"A", square}, {"B", square}, {"X", square}}), HasSubstr("no input 'X'"));
  EXPECT_THAT(message({{"A", square}, {"B", {DataType::kFloat32, {3, 2}}}}), HasSubstr("'L'"));
}

TEST_F(InvokerTest, ComputesLazyTensorsWithTheirGradients) {
  const Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {7}});
  const Tensor y = Apply("function (X) -> (Y) { Y = sin(X) * X; }", {x}).value();
  const Tensor loss = Apply("function (Y[N]) -> (L) { L[] = +(Y[i]); }", {y}).value();
  const std::vector<Tensor> first = Gradient(loss, {{x}}).value();
  const Tensor sum = Apply("function (Y[N]) -> (L) { L[] = +(Y[i]); }", {first[0]}).value();
  const std::vector<Tensor> second = Gradient(sum, {{x}}).value();
  const auto invoker = Invoker::Create(
      device_, {{"x", x}}, {{"loss", loss}, {"first", first[0]}, {"second", second[0]}}, "sines");
  ASSERT_TRUE(invoker.ok()) << invoker.status();
  const std::vector<float> values = {-3, -2, -1, 0, 1, 2, 3};
  const auto results = invoker->Run({{"x", Floats({7}, values)}});
  ASSERT_TRUE(results.ok()) << results.status();
  for (int i = 0; i < 7; ++i) {
    const double v = values[i];
    EXPECT_NEAR(results->at("first").GetDouble(i), std::sin(v) + v * std::cos(v), 1e-5);
    EXPECT_NEAR(results->at("second").GetDouble(i), 2 * std::cos(v) - v * std::sin(v), 1e-5);
  }
}

TEST_F(InvokerTest, RefusesNamesAndTensorsThatDoNotServe) {
  const Tensor x = Tensor::Placeholder("x", {DataType::kFloat32, {2}});
  const Tensor y = Apply("function (X) -> (Y) { Y = X + 1; }", {x}).value();
  const auto message = [&](std::vector<NamedTensor> inputs, std::vector<NamedTensor> outputs) {
    const auto invoker = Invoker::Create(device_, std::move(inputs), std::move(outputs), "test");
    EXPECT_EQ(invoker.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(invoker.status().message());
  };
  EXPECT_THAT(message({}, {{"y", y}}),
              HasSubstr("'y' depends on a placeholder that is not an input"));
  EXPECT_THAT(message({{"y", y}}, {{"y", y}}), HasSubstr("'y' is not a placeholder"));
  EXPECT_THAT(message({{"x", x}}, {{"y", y}, {"y", x}}), HasSubstr("two outputs are named 'y'"));
  EXPECT_THAT(message({{"x", x}}, {{"y", Tensor()}}), HasSubstr("'y' is undefined"));
}

TEST_F(InvokerTest, RunsFromSeveralThreads) {
  const Function function = Function::FromTile("function (X) -> (Y) { Y = 2 * X; }").value();
  const auto invoker = Invoker::Create(device_, function, {{"X", {DataType::kFloat32, {3}}}});
  ASSERT_TRUE(invoker.ok()) << invoker.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&invoker, t] {
      for (int i = 0; i < 50; ++i) {
        const float v = static_cast<float>(100 * t + i);
        const auto results = invoker->Run({{"X", Floats({3}, {v, v + 1, v + 2})}});
        ASSERT_TRUE(results.ok()) << results.status();
        EXPECT_THAT(results->at("Y").ToDoubles(), ElementsAre(2 * v, 2 * v + 2, 2 * v + 4));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tartan::api::invoker_test
