// SPDX-License-Identifier: Apache-2.0
// Tests of sessions shared by several threads.
#include "frontend/api/session.h"

#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <thread>

#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/base/status_macros.h"
#include "tile/plan/select/select_winograd.h"

namespace tartan::api {
namespace {

TensorSpec Floats(const std::string& name, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.name = name;
  spec.type = DataType::kFloat32;
  spec.has_rank = true;
  spec.dim_names.resize(dims.size());
  spec.dims = std::move(dims);
  return spec;
}

// A 3x3 convolution of 16 channels, with weights of 1.
class Convolution : public Model {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                  Resolver* /*resolver*/) const override {
    const HostTensor ones = HostTensor::FromVector<float>({DataType::kFloat32, {3, 3, 16, 16}},
                                                          std::vector<float>(9 * 16 * 16, 1));
    BoundGraph graph;
    graph.placeholders = {Tensor::Placeholder("x", bindings[0].shape)};
    TARTAN_ASSIGN_OR_RETURN(
        Tensor y, Apply("function (D[N, Y, X, C], K[I, J, C, O]) -> (R) { R[n, y, x, o : N, Y, X, "
                        "O] = +(D[n, y+i-1, x+j-1, c] * K[i, j, c, o]); }",
                        {graph.placeholders[0], Tensor::Constant(ones)}));
    graph.outputs = {y};
    return graph;
  }

 private:
  const std::string name_ = "convolution";
  const std::vector<TensorSpec> inputs_ = {Floats("x", {1, 12, 12, 16})};
  const std::vector<TensorSpec> outputs_ = {Floats("y", {1, 12, 12, 16})};
};

// y = 3 * x + 1 for float32 vectors of any size.
class Affine : public Model {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                  Resolver* /*resolver*/) const override {
    BoundGraph graph;
    graph.placeholders = {Tensor::Placeholder("x", bindings[0].shape)};
    TARTAN_ASSIGN_OR_RETURN(Tensor y,
                            Apply("function (X) -> (Y) { Y = 3 * X + 1; }", graph.placeholders));
    graph.outputs = {y};
    return graph;
  }

 private:
  const std::string name_ = "affine";
  const std::vector<TensorSpec> inputs_ = {Floats("x", {-1})};
  const std::vector<TensorSpec> outputs_ = {Floats("y", {-1})};
};

// Runs on `size` elements starting at `first` and expects the correct result.
void RunOnce(Session& session, int64_t size, int first) {
  std::vector<float> x(static_cast<size_t>(size));
  std::vector<double> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(first + static_cast<int>(i));
    expected.push_back(3 * x[i] + 1);
  }
  const auto y =
      session.Run({{"x", HostTensor::FromVector(TensorShape{DataType::kFloat32, {size}}, x)}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->at(0).ToDoubles(), expected);
}

TEST(Session, AnswersManyThreadsOfEqualAndOfDifferentShapes) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  SessionOptions options;
  options.max_signatures = 2;  // fewer than the shapes, so that signatures are evicted while in use
  const auto session = Session::Create(std::make_shared<Affine>(), *device, options);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&session, t] {
      for (int i = 0; i < 25; ++i) RunOnce(**session, 5 + (i + t) % 3, 100 * t + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

HostTensor Numbers(const std::vector<float>& values) {
  return HostTensor::FromVector(
      TensorShape{DataType::kFloat32, {static_cast<int64_t>(values.size())}}, values);
}

TEST(Session, RunsLater) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto session = Session::Create(std::make_shared<Affine>(), *device);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::future<absl::StatusOr<std::vector<HostTensor>>>> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back((*session)->RunAsync({{"x", Numbers({1.0f * i, 2.0f * i, -1})}}));
  }
  for (int i = 0; i < 6; ++i) {
    const auto y = runs[i].get();
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_THAT(y->at(0).ToDoubles(), testing::ElementsAre(3 * i + 1, 6 * i + 1, -2));
  }
  const auto wrong = (*session)->RunAsync({{"z", Numbers({1})}}).get();
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument) << wrong.status();
}

// Nobody reads the outputs; the destructor of the future still waits for the run.
TEST(Session, EndsAfterARunWhoseFutureIsLetGoOf) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  auto session = Session::Create(std::make_shared<Affine>(), *device);
  ASSERT_TRUE(session.ok()) << session.status();
  (*session)->RunAsync({{"x", Numbers(std::vector<float>(1000, 1))}});
  session->reset();
}

TEST(Session, AnswersInFloat64OnADeviceThatComputesInFloat64) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto exact = (*device)->InFloat64();
  ASSERT_TRUE(exact.ok()) << exact.status();
  const HostTensor x = HostTensor::FromVector<float>({DataType::kFloat32, {1}}, {16777215});
  for (const auto& used : {*device, *exact}) {
    const auto session = Session::Create(std::make_shared<Affine>(), used);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto y = (*session)->Run({{"x", x}});
    ASSERT_TRUE(y.ok()) << y.status();
    const bool is_exact = used == *exact;
    EXPECT_EQ(y->at(0).type(), is_exact ? DataType::kFloat64 : DataType::kFloat32);
    EXPECT_EQ(y->at(0).GetDouble(0) == 50331646, is_exact);
  }
}

TEST(Session, KeepsAnInfinityWhereItIsWithoutWinogradsAlgorithm) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  std::vector<float> pixels(12 * 12 * 16, 1);
  pixels[(5 * 12 + 6) * 16 + 3] = std::numeric_limits<float>::infinity();
  const HostTensor x = HostTensor::FromVector<float>({DataType::kFloat32, {1, 12, 12, 16}}, pixels);
  std::map<plan::Winograd, int> nans;
  std::map<plan::Winograd, int> infinities;
  for (plan::Winograd use : {plan::Winograd::kNever, plan::Winograd::kAlways}) {
    SessionOptions options;
    options.winograd = use;
    options.tier = Tier::kExact;
    const auto session = Session::Create(std::make_shared<Convolution>(), *device, options);
    ASSERT_TRUE(session.ok()) << session.status();
    const auto y = (*session)->Run({{"x", x}});
    ASSERT_TRUE(y.ok()) << y.status();
    for (double value : y->at(0).ToDoubles()) {
      nans[use] += std::isnan(value) ? 1 : 0;
      infinities[use] += std::isinf(value) ? 1 : 0;
    }
  }
  EXPECT_EQ(nans[plan::Winograd::kNever], 0);
  EXPECT_EQ(infinities[plan::Winograd::kNever], 9 * 16);
  if ((*device)->info().type == hal::DeviceType::kGpu) {
    EXPECT_EQ(nans[plan::Winograd::kAlways], 0) << "GPUs use another algorithm";
  } else {
    EXPECT_GT(nans[plan::Winograd::kAlways], 0) << "the option is of no effect";
  }
}

}  // namespace
}  // namespace tartan::api
