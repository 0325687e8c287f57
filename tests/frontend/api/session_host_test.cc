// SPDX-License-Identifier: Apache-2.0
// Tests of sessions that run small programs on the host.
#include <cmath>
#include <memory>
#include <vector>

#include "frontend/api/function.h"
#include "frontend/api/repeat.h"
#include "frontend/api/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/test_model.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

using ::testing::Each;

std::shared_ptr<TestModel> Doubling() {
  return std::make_shared<TestModel>(std::vector<int64_t>{-1}, [](const Tensor& x, Resolver*) {
    return Apply("function (X[N], W[M]) -> (Y) { Y[n : N] = +(X[n] * W[m]); }",
                 {x, Tensor::Constant(Constant(2, 1))});
  });
}

class TimesTwo final : public Call {
 public:
  explicit TimesTwo(RepeatBody body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              CallRunner& runner) const override {
    return runner.Repeat(body_, operands);
  }

 private:
  const RepeatBody body_;
};

// A model that doubles x `iterations` times in a loop.
std::shared_ptr<TestModel> DoublingInALoop(int64_t iterations) {
  return std::make_shared<TestModel>(
      std::vector<int64_t>{-1},
      [iterations](const Tensor& x, Resolver* resolver) -> absl::StatusOr<Tensor> {
        RepeatBody body;
        body.states = {Tensor::Placeholder("s", x.shape())};
        TARTAN_ASSIGN_OR_RETURN(body.next_states.emplace_back(),
                                Apply("function (S) -> (N) { N = 2 * S; }", body.states));
        body.iterations = iterations;
        resolver->Begin({x});
        GraphBreak graph_break;
        graph_break.operands = {x};
        graph_break.call = std::make_shared<TimesTwo>(std::move(body));
        TARTAN_ASSIGN_OR_RETURN(const BreakResult result, resolver->Resolve(graph_break));
        return result.results[0];
      });
}

class SessionHost : public ::testing::Test {
 protected:
  void SetUp() override {
    DeviceOptions options;
    options.use_disk_cache = false;  // exact kernels on disk would be used instead
    auto device = Device::Open("", options);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  std::unique_ptr<Session> Make(const std::shared_ptr<TestModel>& model,
                                const SessionOptions& options = {}) const {
    auto session = Session::Create(model, device_, options);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // Runs on `size` threes and expects `expected` for each.
  static RunStatistics RunOn(Session& session, int64_t size, double expected,
                             std::vector<KernelProfile>* profile = nullptr) {
    RunStatistics statistics;
    const auto y = session.Run({{"x", Constant(size, 3)}}, &statistics, profile);
    EXPECT_TRUE(y.ok()) << y.status();
    EXPECT_THAT(y.ok() ? y->at(0).ToDoubles() : std::vector<double>(), Each(expected));
    return statistics;
  }

  std::shared_ptr<Device> device_;
};

TEST_F(SessionHost, ComputeLittleWorkWithoutAKernel) {
  const auto session = Make(Doubling());
  const RunStatistics run = RunOn(*session, 3, 6);
  EXPECT_EQ(run.host_programs, 1);
  EXPECT_EQ(run.ready_programs + run.exact_programs, 0);
  EXPECT_EQ(run.kernels, 0);
  EXPECT_EQ(run.cache_misses, 0);
  EXPECT_EQ(device_->hal()->statistics().peak_allocated_bytes, 0);
}

TEST_F(SessionHost, LeaveMuchWorkToTheDevice) {
  const auto session =
      Make(std::make_shared<TestModel>(std::vector<int64_t>{-1}, [](const Tensor& x, Resolver*) {
        return Apply("function (X[N]) -> (Y) { Y[n : N] = =(X[n]) ; }", {x});
      }));
  EXPECT_EQ(RunOn(*session, int64_t{1} << 21, 3).host_programs, 0);
  EXPECT_EQ(RunOn(*session, 3, 3).host_programs, 1);
}

TEST_F(SessionHost, LeaveAllToTheDeviceWhereTheyAreToldSo) {
  SessionOptions options;
  options.host_ms = 0;
  EXPECT_EQ(RunOn(*Make(Doubling(), options), 3, 6).ready_programs, 1);
  options = {};
  options.tier = Tier::kReady;
  EXPECT_EQ(RunOn(*Make(Doubling(), options), 3, 6).host_programs, 0);
  EXPECT_EQ(RunOn(*Make(Doubling(), ExactAtOnce()), 3, 6).exact_programs, 1);
}

TEST_F(SessionHost, GoOnWithExactKernels) {
  const auto session = Make(Doubling());
  for (int run = 0; run < 2; ++run) EXPECT_EQ(RunOn(*session, 3, 6).host_programs, 1);
  ASSERT_TRUE(session->WaitForExact().ok());
  const RunStatistics exact = RunOn(*session, 3, 6);
  EXPECT_EQ(exact.exact_programs, 1);
  EXPECT_EQ(exact.host_programs, 0);
  EXPECT_EQ(exact.kernels, 1);
  EXPECT_EQ(RunOn(*session, 4, 6).host_programs, 1);
}

TEST_F(SessionHost, TellWhatTheHostTook) {
  const auto session = Make(Doubling());
  std::vector<KernelProfile> profile;
  RunOn(*session, 3, 6, &profile);
  ASSERT_EQ(profile.size(), 1u);
  EXPECT_EQ(profile[0].kernel, "host");
  EXPECT_GT(profile[0].ms, 0);
}

TEST_F(SessionHost, RepeatShortLoopsWithoutAKernel) {
  EXPECT_EQ(RunOn(*Make(DoublingInALoop(5)), 3, 96).cache_misses, 0);
  EXPECT_EQ(RunOn(*Make(DoublingInALoop(0)), 3, 3).cache_misses, 0);
}

TEST_F(SessionHost, LeaveLongLoopsToTheDevice) {
  SessionOptions options;
  options.host_ms = 0.01;
  EXPECT_EQ(RunOn(*Make(DoublingInALoop(5), options), 3, 96).cache_misses, 0);
  EXPECT_EQ(RunOn(*Make(DoublingInALoop(500), options), 3, INFINITY).cache_misses, 1);
}

}  // namespace
}  // namespace tartan::api
