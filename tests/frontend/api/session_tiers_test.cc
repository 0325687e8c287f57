// SPDX-License-Identifier: Apache-2.0
// Tests of sessions that start with ready (dynamic-shape) kernels and continue with exact
// (shape-specialised) ones.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/function.h"
#include "frontend/api/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/background_barrier.h"
#include "tests/frontend/api/test_model.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kWeights = 1 << 18;
constexpr int64_t kWeightBytes = 4 * kWeights;

// x times the number of weights, each of which is 1.
std::shared_ptr<TestModel> TimesSum() {
  const HostTensor weights = Constant(kWeights, 1);
  return std::make_shared<TestModel>(
      std::vector<int64_t>{-1}, [weights](const Tensor& x, Resolver*) {
        return Apply("function (X[N], W[M]) -> (Y) { Y[n : N] = +(X[n] * W[m]); }",
                     {x, Tensor::Constant(weights)});
      });
}

class SessionTiers : public ::testing::Test {
 protected:
  void SetUp() override {
    DeviceOptions options;
    options.use_disk_cache = false;  // exact kernels on disk would be used at once
    auto device = Device::Open("", options);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  // A session of kAuto unless the options say otherwise. Only the number of runs decides when exact
  // kernels are compiled.
  std::unique_ptr<Session> Make(SessionOptions options = {}) const {
    options.host_ms = 0;
    options.exact_lost_share = 0;
    auto session = Session::Create(TimesSum(), device_, std::move(options));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // The statistics of a run on `size` twos; expects the correct result.
  static RunStatistics RunOn(Session& session, int64_t size) {
    RunStatistics statistics;
    const auto y = session.Run({{"x", Constant(size, 2)}}, &statistics);
    EXPECT_TRUE(y.ok()) << y.status();
    const std::vector<double> values = y.ok() ? y->at(0).ToDoubles() : std::vector<double>();
    EXPECT_THAT(values, Each(2.0 * kWeights));
    return statistics;
  }

  static bool IsExact(const RunStatistics& run) {
    EXPECT_EQ(run.exact_programs + run.ready_programs, 1);
    return run.exact_programs == 1;
  }

  int64_t Allocated() const { return device_->hal()->statistics().allocated_bytes; }

  std::shared_ptr<Device> device_;
};

TEST_F(SessionTiers, BeginWithReadyKernelsAndGoOnWithExactOnesOnceAShapeIsSeenAgain) {
  std::promise<std::thread::id> thread;
  SessionOptions options;
  options.before_exact = [&] {
    thread.set_value(std::this_thread::get_id());
    return absl::OkStatus();
  };
  const auto session = Make(options);
  EXPECT_FALSE(IsExact(RunOn(*session, 3)));
  EXPECT_FALSE(IsExact(RunOn(*session, 3)));
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
  while (!IsExact(RunOn(*session, 3))) {
  }
  EXPECT_TRUE(IsExact(RunOn(*session, 3)));
}

TEST_F(SessionTiers, DoNotCompileExactKernelsForAShapeThatIsSeenOnce) {
  std::atomic<int> asked = 0;
  SessionOptions options;
  options.before_exact = [&] {
    ++asked;
    return absl::OkStatus();
  };
  const auto session = Make(options);
  for (int64_t size = 1; size <= 4; ++size) EXPECT_FALSE(IsExact(RunOn(*session, size)));
  RunOn(*session, 4);
  while (!IsExact(RunOn(*session, 4))) {
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(SessionTiers, CompileExactKernelsBeforeTheFirstRunWhereTheyAreAskedToDoSo) {
  const auto session = Make(ExactAtOnce());
  EXPECT_TRUE(IsExact(RunOn(*session, 3)));
}

TEST_F(SessionTiers, StayReadyWhereTheyAreAskedToDoSo) {
  SessionOptions options;
  options.tier = Tier::kReady;
  options.exact_after_runs = 1;
  const auto session = Make(options);
  for (int run = 0; run < 3; ++run) EXPECT_FALSE(IsExact(RunOn(*session, 3)));
  EXPECT_TRUE(session->WaitForExact().ok());
  EXPECT_FALSE(IsExact(RunOn(*session, 3)));
}

TEST_F(SessionTiers, LinesThatRunOneByOneReachExactKernels) {
  EagerOptions options;
  options.host_ms = 0;
  options.exact_after_runs = 2;
  options.exact_lost_share = 0;
  EagerRuntime runtime(device_, options);
  for (int run = 0; run < 4; ++run) {
    if (run == 2) WaitForBackground();
    const Tensor x = Tensor::Leaf(Constant(3, static_cast<float>(run)));
    const auto y = Apply("function (X) -> (Y) { Y = X * X; }", {x});
    ASSERT_TRUE(y.ok()) << y.status();
    RunStatistics statistics;
    const auto values = runtime.Evaluate({*y}, &statistics);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_THAT(values->at(0).ToDoubles(), Each(run * run));
    EXPECT_EQ(statistics.exact_programs, run < 2 ? 0 : 1) << run;
    EXPECT_EQ(statistics.ready_programs, run < 2 ? 1 : 0) << run;
  }
}

// 5 million elements are more than the host computes otherwise.
TEST_F(SessionTiers, TheHostComputesEverythingAfterAFork) {
  EagerOptions options;
  options.only_host = true;
  EagerRuntime runtime(device_, options);
  const Tensor x = Tensor::Leaf(Constant(5'000'000, 3));
  const auto y = Apply("function (X) -> (Y) { Y = X * X; }", {x});
  ASSERT_TRUE(y.ok()) << y.status();
  for (int run = 0; run < 2; ++run) {
    RunStatistics statistics;
    const auto values = runtime.Evaluate({*y}, &statistics);
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_THAT(values->at(0).ToDoubles(), Each(9));
    EXPECT_EQ(statistics.host_programs, 1);
  }
}

// Self-attention over the rows of x.
std::shared_ptr<TestModel> Attention() {
  return std::make_shared<TestModel>(std::vector<int64_t>{-1, 32}, [](const Tensor& x, Resolver*) {
    return Apply(
        "function (X[L, C]) -> (Y) { S[l, k : L, L] = +(X[l, c] * X[k, c]);"
        " M[l, 0 : L, 1] = >(S[l, k]); E = exp(S - M); D[l, 0 : L, 1] = +(E[l, k]); P = E / D;"
        " Y[l, c : L, C] = +(P[l, k] * X[k, c]); }",
        {x});
  });
}

TEST_F(SessionTiers, CompileNothingForAnotherLengthWhereKernelsAreReady) {
  SessionOptions options;
  options.tier = Tier::kReady;
  const auto session = Session::Create(Attention(), device_, std::move(options));
  ASSERT_TRUE(session.ok()) << session.status();
  for (int64_t length = 2; length <= 40; ++length) {
    const TensorShape shape = {DataType::kFloat32, {length, 32}};
    const std::vector<float> halves(static_cast<size_t>(32 * length), 0.5F);
    RunStatistics statistics;
    const auto y = (*session)->Run({{"x", HostTensor::FromVector(shape, halves)}}, &statistics);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_THAT(y->at(0).ToDoubles(), Each(DoubleNear(0.5, 1e-6))) << length;
    EXPECT_EQ(statistics.cache_misses, length == 2 ? 1 : 0) << length;
  }
}

TEST_F(SessionTiers, WaitForTheExactKernelsOfAllShapesThatHaveRun) {
  SessionOptions options;
  options.exact_after_runs = 0;
  const auto session = Make(options);
  for (int64_t size = 1; size <= 3; ++size) EXPECT_FALSE(IsExact(RunOn(*session, size)));
  ASSERT_TRUE(session->WaitForExact().ok());
  for (int64_t size = 1; size <= 3; ++size) {
    const RunStatistics run = RunOn(*session, size);
    EXPECT_TRUE(IsExact(run));
    EXPECT_EQ(run.compile_ms, 0);
  }
  EXPECT_FALSE(IsExact(RunOn(*session, 4))) << "a shape that is new";
}

TEST_F(SessionTiers, WaitForWhatTheBackgroundIsCompiling) {
  std::promise<void> begun;
  std::promise<void> released;
  std::atomic<int> asked = 0;
  SessionOptions options;
  options.before_exact = [&] {
    ++asked;
    begun.set_value();
    released.get_future().wait();
    return absl::OkStatus();
  };
  const auto session = Make(options);
  RunOn(*session, 3);
  RunOn(*session, 3);
  begun.get_future().wait();
  auto waiting = std::async(std::launch::async, [&] { return session->WaitForExact(); });
  EXPECT_FALSE(IsExact(RunOn(*session, 3)));
  released.set_value();
  ASSERT_TRUE(waiting.get().ok());
  EXPECT_TRUE(IsExact(RunOn(*session, 3)));
  EXPECT_EQ(asked, 1);
}

TEST_F(SessionTiers, GoOnWithReadyKernelsWhereExactOnesFailAndSaySoOnce) {
  SessionOptions options;
  options.before_exact = [] { return absl::InternalError("the compiler is on holiday"); };
  const auto session = Make(options);
  testing::internal::CaptureStderr();
  for (int64_t size = 1; size <= 2; ++size) {
    RunOn(*session, size);
    RunOn(*session, size);
  }
  const absl::Status status = session->WaitForExact();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(std::string(status.message()), HasSubstr("holiday"));
  EXPECT_THAT(told, HasSubstr("holiday"));
  EXPECT_EQ(told.find("holiday"), told.rfind("holiday")) << told;
  for (int64_t size = 1; size <= 2; ++size) EXPECT_FALSE(IsExact(RunOn(*session, size)));
}

TEST_F(SessionTiers, EndWhileTheirExactKernelsAreCompiled) {
  const int64_t before = Allocated();
  auto begun = std::make_shared<std::promise<void>>();
  auto released = std::make_shared<std::promise<void>>();
  SessionOptions options;
  options.before_exact = [=] {
    begun->set_value();
    released->get_future().wait();
    return absl::OkStatus();
  };
  auto session = Make(options);
  RunOn(*session, 3);
  RunOn(*session, 3);
  begun->get_future().wait();
  session = nullptr;
  EXPECT_EQ(Allocated(), before);
  released->set_value();
  // The background continues with requests of other sessions.
  const auto other = Make();
  while (!IsExact(RunOn(*other, 3))) {
  }
}

TEST_F(SessionTiers, EndAtAnyMoment) {
  for (int end = 0; end < 12; ++end) {
    const auto session = Make();
    for (int run = 0; run < 2 + 3 * end; ++run) RunOn(*session, 5 + end % 2);
  }
}

TEST_F(SessionTiers, GiveTheReadyProgramsMemoryBack) {
  const int64_t before = Allocated();
  const auto session = Make();
  RunOn(*session, 3);
  ASSERT_TRUE(session->WaitForExact().ok());
  RunOn(*session, 3);
  const int64_t both = Allocated() - before;
  EXPECT_GE(both, kWeightBytes);
  const auto exact = Make(ExactAtOnce());
  RunOn(*exact, 3);
  EXPECT_LE(both, Allocated() - before - both + (1 << 16));
}

TEST_F(SessionTiers, AnswerManyThreadsWhileKernelsAreExchanged) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto session = Make();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&session, repeat, t] {
        for (int i = 0; i < 30; ++i) RunOn(*session, 20 + 2 * repeat + t % 2);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(session->WaitForExact().ok());
    EXPECT_TRUE(IsExact(RunOn(*session, 20 + 2 * repeat)));
  }
}

TEST_F(SessionTiers, CompileExactKernelsAtOnceForWhoeverSeesThem) {
  std::atomic<int> seen = 0;
  const std::thread::id here = std::this_thread::get_id();
  compiler::CompileHooks hooks;
  hooks.dump = [&](absl::string_view, absl::string_view) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    ++seen;
  };
  const auto session = Session::Create(TimesSum(), device_->With(std::move(hooks)));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(IsExact(RunOn(**session, 3)));
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace tartan::api
