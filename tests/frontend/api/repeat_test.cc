// SPDX-License-Identifier: Apache-2.0
// Tests of loop bodies repeated on a device, against the naive evaluator.
#include "frontend/api/repeat.h"

#include "frontend/api/function.h"
#include "frontend/api/programs/device_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::api::repeat_test {
namespace {

using ::testing::ElementsAre;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)}, values);
}

Tensor FloatPlaceholder(const std::string& name, std::vector<int64_t> dims) {
  return Tensor::Placeholder(name, TensorShape{DataType::kFloat32, std::move(dims)});
}

class Repeating : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  // Runs the body on the device and expects the results of the naive evaluator.
  std::vector<HostTensor> Run(const RepeatBody& body, const std::vector<HostTensor>& operands) {
    LoadedPrograms programs(device_);
    DeviceRunner runner(programs, /*is_checked=*/true);
    RunStatistics statistics;
    NaiveRunner naive;
    const auto expected = naive.Repeat(body, operands);
    EXPECT_TRUE(expected.ok()) << expected.status();
    std::vector<HostTensor> results;
    for (int time = 0; time < 2; ++time) {  // the second run reuses the memory of the first
      const auto actual = runner.Run(RepeatCall(body), operands, &statistics);
      EXPECT_TRUE(actual.ok()) << actual.status();
      if (!actual.ok() || !expected.ok()) return {};
      EXPECT_EQ(actual->size(), expected->size());
      for (size_t i = 0; i < actual->size(); ++i) {
        EXPECT_EQ(actual->at(i).shape(), expected->at(i).shape());
        EXPECT_EQ(actual->at(i).ToDoubles(), expected->at(i).ToDoubles()) << "result " << i;
      }
      results = *actual;
    }
    return results;
  }

  // Returns the one resulting tensor as a list.
  std::vector<Tensor> Apply(const std::string& text, const std::vector<Tensor>& inputs) {
    const auto outputs = api::Apply(text, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return {outputs.ok() ? *outputs : Tensor()};
  }

  std::shared_ptr<Device> device_;
};

TEST_F(Repeating, HandsStatesOnAndStacksRows) {
  RepeatBody body;
  body.states = {FloatPlaceholder("s", {3})};
  body.slices = {FloatPlaceholder("x", {3})};
  body.invariants = {FloatPlaceholder("w", {3})};
  body.next_states = Apply("function (S, X, W) -> (N) { N = S * W + X; }",
                           {body.states[0], body.slices[0], body.invariants[0]});
  body.rows = Apply("function (N) -> (R) { R = N * 2; }", body.next_states);
  body.iterations = 5;
  std::vector<float> x;
  for (int i = 0; i < 15; ++i) x.push_back(static_cast<float>(i));
  const auto results =
      Run(body, {Floats({3}, {1, 2, 3}), Floats({5, 3}, x), Floats({3}, {1, 0.5f, -1})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].shape().dims, (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(results[0].GetDouble(0), 1 + 0 + 3 + 6 + 9 + 12);
}

TEST_F(Repeating, ExchangesStatesThatAreEachOthersNext) {
  RepeatBody body;
  body.states = {FloatPlaceholder("a", {2}), FloatPlaceholder("b", {2}),
                 FloatPlaceholder("c", {2})};
  body.next_states = {body.states[1], body.states[2], body.states[0]};
  body.iterations = 7;
  const auto results = Run(body, {Floats({2}, {1, 2}), Floats({2}, {3, 4}), Floats({2}, {5, 6})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[0].ToDoubles(), ElementsAre(3, 4));
  EXPECT_THAT(results[1].ToDoubles(), ElementsAre(5, 6));
  EXPECT_THAT(results[2].ToDoubles(), ElementsAre(1, 2));
}

TEST_F(Repeating, EndsWhereTheConditionSaysSo) {
  RepeatBody body;
  body.iteration = Tensor::Placeholder("t", TensorShape{DataType::kInt64, {}});
  body.states = {FloatPlaceholder("s", {})};
  body.next_states = Apply("function (S) -> (N) { N = S * 2; }", body.states);
  body.condition = Apply("function (N) -> (G) { G = N < 1000; }", body.next_states)[0];
  body.rows = Apply("function (T) -> (R) { R = T * T; }", {body.iteration});
  body.iterations = INT64_MAX;
  const auto results = Run(body, {Floats({}, {1})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0].ToDoubles(), ElementsAre(1024));
  EXPECT_EQ(results[1].element_count(), 10);
  EXPECT_EQ(results[1].GetInt(9), 81);
}

TEST_F(Repeating, KeepsMoreRowsThanWereReserved) {
  RepeatBody body;
  body.states = {FloatPlaceholder("s", {})};
  body.next_states = Apply("function (S) -> (N) { N = S + 1; }", body.states);
  body.condition = Apply("function (N) -> (G) { G = N < 1000; }", body.next_states)[0];
  body.rows = body.next_states;
  body.iterations = 5000;
  const auto results = Run(body, {Floats({}, {0})});
  ASSERT_EQ(results.size(), 2u);
  ASSERT_EQ(results[1].element_count(), 1000);
  EXPECT_EQ(results[1].GetDouble(999), 1000);
}

// Rows of 12 bytes need padding on the device. The iteration number continues across the parts into
// which the loop is divided.
TEST_F(Repeating, GoesOnWhereIterationsAreTooManyAtOnce) {
  constexpr int kIterations = 5001;
  RepeatBody body;
  body.iteration = Tensor::Placeholder("t", TensorShape{DataType::kInt64, {}});
  body.states = {FloatPlaceholder("s", {3})};
  body.slices = {FloatPlaceholder("x", {3})};
  body.next_states = Apply("function (S, X, T) -> (N) { N = S * 0.5 + X + (T < 4096 ? 0 : T); }",
                           {body.states[0], body.slices[0], body.iteration});
  body.rows = Apply("function (N, S) -> (R) { R = N + S; }", {body.next_states[0], body.states[0]});
  body.iterations = kIterations;
  std::vector<float> x;
  for (int i = 0; i < 3 * kIterations; ++i) x.push_back(static_cast<float>(i % 7));
  const auto results = Run(body, {Floats({3}, {1, 2, 3}), Floats({kIterations, 3}, x)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].shape().dims, (std::vector<int64_t>{kIterations, 3}));
  EXPECT_GT(results[0].GetDouble(0), 9000);
}

// Covers states that are rows, keep their value, swap or move to another state. Also covers a row
// that is a state's previous value, and two equal rows.
TEST_F(Repeating, FindsStatesWhereTheyWereWritten) {
  const auto add = [&](const Tensor& a, const Tensor& b) {
    return Apply("function (A, B) -> (C) { C = A + 2 * B; }", {a, b})[0];
  };
  const Tensor a = FloatPlaceholder("a", {40}), b = FloatPlaceholder("b", {40}),
               x = FloatPlaceholder("x", {40});
  std::vector<float> ones(40, 1), twos(40, 2), rows;
  for (int i = 0; i < 40 * 9; ++i) rows.push_back(static_cast<float>(i % 11));
  const Tensor sum = add(a, x), other = add(b, sum);
  struct Case {
    std::vector<Tensor> next, rows;
  };
  const Case cases[] = {{{sum, other}, {}},           {{sum, other}, {sum}},
                        {{sum, other}, {other, sum}}, {{sum, b}, {other}},
                        {{sum, a}, {other}},          {{sum, other}, {a}},
                        {{sum, sum}, {other}},        {{b, sum}, {sum}},
                        {{a, b}, {sum, sum}},         {{other, sum}, {x, sum}}};
  for (int64_t iterations : {1, 2, 9}) {
    for (const Case& example : cases) {
      RepeatBody body;
      body.states = {a, b};
      body.slices = {x};
      body.next_states = example.next;
      body.rows = example.rows;
      body.iterations = iterations;
      const std::vector<float> part(rows.begin(), rows.begin() + iterations * 40);
      const auto results =
          Run(body, {Floats({40}, ones), Floats({40}, twos), Floats({iterations, 40}, part)});
      EXPECT_EQ(results.size(), 2 + example.rows.size());
    }
  }
}

TEST(NaiveRunner, GivesUpAfterItsIterationsAndIndexPoints) {
  RepeatBody body;
  body.states = {FloatPlaceholder("s", {10})};
  const auto next = api::Apply("function (S) -> (N) { N = S + 1; }", body.states);
  ASSERT_TRUE(next.ok()) << next.status();
  body.next_states = {*next};
  body.iterations = 40;
  const std::vector<HostTensor> operands = {Floats({10}, std::vector<float>(10, 0))};
  NaiveRunner enough(100, 1000);
  ASSERT_TRUE(enough.Repeat(body, operands).ok());
  EXPECT_EQ(enough.iterations(), 60);
  EXPECT_GT(enough.points(), 0);
  // The limits apply to all loops of a runner together.
  EXPECT_TRUE(enough.Repeat(body, operands).ok());
  EXPECT_EQ(enough.Repeat(body, operands).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(NaiveRunner(100, 399).Repeat(body, operands).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(Repeating, ReturnsTheStatesWithoutATurn) {
  RepeatBody body;
  body.states = {FloatPlaceholder("s", {2})};
  body.next_states = Apply("function (S) -> (N) { N = S + 1; }", body.states);
  body.rows = body.next_states;
  body.iterations = 0;
  const auto results = Run(body, {Floats({2}, {7, 8})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[0].ToDoubles(), ElementsAre(7, 8));
  EXPECT_EQ(results[1].shape().dims, (std::vector<int64_t>{0, 2}));
}

TEST_F(Repeating, TakesEmptyTensors) {
  RepeatBody body;
  body.states = {FloatPlaceholder("s", {0}), FloatPlaceholder("n", {})};
  body.slices = {FloatPlaceholder("x", {0, 4})};
  body.next_states = {body.states[0],
                      Apply("function (S) -> (N) { N = S + 1; }", {body.states[1]})[0]};
  body.rows = {body.slices[0]};
  body.iterations = 3;
  const auto results = Run(body, {Floats({0}, {}), Floats({}, {0}), Floats({3, 0, 4}, {})});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[1].ToDoubles(), ElementsAre(3));
  EXPECT_EQ(results[2].shape().dims, (std::vector<int64_t>{3, 0, 4}));
}

}  // namespace
}  // namespace tartan::api::repeat_test
