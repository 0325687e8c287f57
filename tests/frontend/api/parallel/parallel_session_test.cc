// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/parallel_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "frontend/api/function.h"
#include "tests/frontend/api/test_model.h"

namespace tartan::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kColumns = 48;

// Values in [-1, 1] without a pattern that repeats by row.
HostTensor Values(int64_t rows, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(rows * kColumns));
  for (float& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {rows, kColumns}}, values);
}

absl::StatusOr<Tensor> Layer(const Tensor& x, Resolver*) {
  return Apply(
      "function (X[N, K], W[K, M]) -> (Y) { T[n, m : N, M] = +(X[n, k] * W[k, m]); Y = tanh(T); }",
      {x, Tensor::Constant(Values(kColumns, 7))});
}

std::shared_ptr<const Model> ModelOf(TestModel::Body body) {
  return std::make_shared<TestModel>(std::vector<int64_t>{-1, kColumns}, std::move(body));
}

SessionOptions Ready() {
  SessionOptions options;
  options.tier = Tier::kReady;
  return options;
}

// Opens the first device several times.
class ParallelSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto devices = OpenDevices({"0", "0", "0"});
    if (!devices.ok()) GTEST_SKIP() << devices.status();
    devices_ = *std::move(devices);
  }

  std::unique_ptr<ParallelSession> Make(TestModel::Body body, const SessionOptions& options,
                                        size_t count = 2) {
    auto session = ParallelSession::Create(
        ModelOf(std::move(body)), {devices_.begin(), devices_.begin() + static_cast<int>(count)},
        options);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  static HostTensor RunOn(ParallelSession& session, const HostTensor& x) {
    const auto y = session.Run({{"x", x}});
    EXPECT_TRUE(y.ok()) << y.status();
    return y.ok() ? y->at(0) : HostTensor();
  }

  std::vector<std::shared_ptr<Device>> devices_;
};

// Dynamic-shape kernels have one order of sums for all batch sizes.
TEST_F(ParallelSessionTest, GivesTheBitsOfOneDeviceForEverySplit) {
  const auto one = Session::Create(ModelOf(Layer), devices_[0], Ready());
  ASSERT_TRUE(one.ok()) << one.status();
  for (const size_t count : {2, 3}) {
    const auto session = Make(Layer, Ready(), count);
    for (const int64_t rows : {1, 2, 3, 7, 8, 64, 65}) {
      const HostTensor x = Values(rows, static_cast<uint32_t>(rows));
      const auto expected = (*one)->Run({{"x", x}});
      ASSERT_TRUE(expected.ok()) << expected.status();
      const HostTensor y = RunOn(*session, x);
      EXPECT_EQ(y.shape(), expected->at(0).shape());
      EXPECT_EQ(y.ToDoubles(), expected->at(0).ToDoubles()) << rows << " rows, " << count;
    }
  }
}

TEST_F(ParallelSessionTest, GivesTheBitsOfOneDeviceForTheSameParts) {
  const auto one = Session::Create(ModelOf(Layer), devices_[0], ExactAtOnce());
  ASSERT_TRUE(one.ok()) << one.status();
  const auto session = Make(Layer, ExactAtOnce());
  const HostTensor x = Values(7, 1);
  const HostTensor y = RunOn(*session, x);
  ASSERT_EQ(y.element_count(), 7 * kColumns);
  const int64_t row_bytes = kColumns * 4;
  for (const auto& [begin, rows] : std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {4, 3}}) {
    const auto bytes = x.bytes().subspan(static_cast<size_t>(begin * row_bytes),
                                         static_cast<size_t>(rows * row_bytes));
    const HostTensor part({DataType::kFloat32, {rows, kColumns}}, bytes);
    const auto expected = (*one)->Run({{"x", part}});
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (int64_t i = 0; i < rows * kColumns; ++i) {
      ASSERT_EQ(y.GetDouble(begin * kColumns + i), expected->at(0).GetDouble(i))
          << begin << " " << i;
    }
  }
}

TEST_F(ParallelSessionTest, UsesNoMoreDevicesThanRows) {
  const auto session = Make(Layer, ExactAtOnce(), 3);
  RunStatistics of_one;
  RunStatistics of_all;
  ASSERT_TRUE(session->Run({{"x", Values(1, 1)}}, &of_one).ok());
  ASSERT_TRUE(session->Run({{"x", Values(5, 1)}}, &of_all).ok());
  EXPECT_EQ(of_all.kernels, 3 * of_one.kernels);
  EXPECT_EQ(session->CountUsed({{"x", Values(1, 1)}}).value_or(0), 1);
  EXPECT_EQ(session->CountUsed({{"x", Values(2, 1)}}).value_or(0), 2);
  EXPECT_EQ(session->CountUsed({{"x", Values(5, 1)}}).value_or(0), 3);
}

TEST_F(ParallelSessionTest, ProfilesTheKernelsOfEachDevice) {
  const auto session = Make(Layer, ExactAtOnce());
  std::vector<KernelProfile> of_one;
  std::vector<KernelProfile> of_both;
  ASSERT_TRUE(session->Run({{"x", Values(1, 1)}}, nullptr, &of_one).ok());
  ASSERT_TRUE(session->Run({{"x", Values(2, 1)}}, nullptr, &of_both).ok());
  EXPECT_EQ(of_both.size(), 2 * of_one.size());
}

TEST_F(ParallelSessionTest, ServesSeveralThreads) {
  const auto session = Make(Layer, Ready());
  const HostTensor x = Values(5, 3);
  const std::vector<double> expected = RunOn(*session, x).ToDoubles();
  std::vector<std::future<bool>> runs;
  for (int t = 0; t < 4; ++t) {
    runs.push_back(std::async(std::launch::async, [&] {
      bool is_equal = true;
      for (int i = 0; i < 10; ++i) is_equal &= RunOn(*session, x).ToDoubles() == expected;
      return is_equal;
    }));
  }
  for (auto& run : runs) EXPECT_TRUE(run.get());
}

TEST_F(ParallelSessionTest, NamesTheDeviceThatFails) {
  DeviceOptions small;
  small.memory_limit_bytes = 1 << 20;
  auto limited = Device::Open("0", small);
  ASSERT_TRUE(limited.ok()) << limited.status();
  const auto session =
      ParallelSession::Create(ModelOf(Layer), {devices_[0], *limited}, ExactAtOnce());
  ASSERT_TRUE(session.ok()) << session.status();
  const auto y = (*session)->Run({{"x", Values(1 << 14, 1)}});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(y.status().message(),
              AllOf(HasSubstr("device 1 ("), HasSubstr(devices_[0]->info().name)));
  EXPECT_EQ(RunOn(**session, Values(4, 1)).shape().dims[0], 4) << "small runs go on";
}

absl::StatusOr<Tensor> MinusMeanOfBatch(const Tensor& x, Resolver*) {
  return Apply("function (X[N, K]) -> (Y) { S[k : K] = +(X[n, k]); Y = X - S / N; }", {x});
}

TEST_F(ParallelSessionTest, RefusesRowsThatDependOnOtherRows) {
  const auto session = Make(MinusMeanOfBatch, ExactAtOnce());
  for (const int64_t rows : {2, 7}) {
    const auto y = session->Run({{"x", Values(rows, 1)}});
    EXPECT_EQ(y.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(y.status().message(), HasSubstr("output 'y' of a row depends on other rows"));
  }
}

// A sum over earlier rows leaves the first row alone.
TEST_F(ParallelSessionTest, RefusesARecurrenceOverTheBatch) {
  const auto earlier = [](const Tensor& x, Resolver*) {
    return Apply("function (X[N, K]) -> (Y) { Y[n, k : N, K] = +(X[m, k]), n - m < N; }", {x});
  };
  const auto later = [](const Tensor& x, Resolver*) {
    return Apply("function (X[N, K]) -> (Y) { Y[n, k : N, K] = +(X[m, k]), m - n < N; }", {x});
  };
  for (const TestModel::Body& body : {TestModel::Body(earlier), TestModel::Body(later)}) {
    const auto y = Make(body, ExactAtOnce())->Run({{"x", Values(6, 1)}});
    EXPECT_EQ(y.status().code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_F(ParallelSessionTest, DoesNotCheckRowsIfUnchecked) {
  SessionOptions options = ExactAtOnce();
  options.unchecked = true;
  const auto session = Make(MinusMeanOfBatch, options);
  EXPECT_EQ(RunOn(*session, Values(2, 1)).ToDoubles(), std::vector<double>(2 * kColumns, 0))
      << "each row is its own mean";
}

TEST_F(ParallelSessionTest, ChecksRowsOnceTheyDiffer) {
  const auto session = Make(MinusMeanOfBatch, ExactAtOnce());
  EXPECT_TRUE(session->Run({{"x", HostTensor::Zeros({DataType::kFloat32, {4, kColumns}})}}).ok());
  EXPECT_FALSE(session->Run({{"x", Values(4, 1)}}).ok());
}

TEST(ParallelSessionDevices, AreNamedByAList) {
  EXPECT_THAT(*ParseSelectors("0,1"), ElementsAre("0", "1"));
  EXPECT_THAT(*ParseSelectors("0, nvidia"), ElementsAre("0", "nvidia"));
  EXPECT_THAT(*ParseSelectors(""), ElementsAre(""));
  EXPECT_THAT(ParseSelectors("0,,1").status().message(), HasSubstr("has an empty entry"));
  EXPECT_FALSE(ParseSelectors("0,").ok());
}

TEST(ParallelSessionDevices, MustBeGiven) {
  EXPECT_EQ(ParallelSession::Create(ModelOf(Layer), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tartan::api
