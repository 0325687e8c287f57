// SPDX-License-Identifier: Apache-2.0
// Tests of the memory of sessions, and of their behaviour when memory runs out.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "frontend/api/function.h"
#include "frontend/api/invoker.h"
#include "frontend/api/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/test_model.h"
#include "tile/base/environment.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// Elements of each weight vector.
constexpr int64_t kElements = 1 << 20;
constexpr int64_t kBytes = 4 * kElements;

// x times the number of weights, each of which is 1. Every run reads all weights.
constexpr char kTimesSum[] = "function (X[N], W[M]) -> (Y) { Y[n : N] = +(X[n] * W[m]); }";
// The same result with a sum that is computed once, because only constants enter it.
constexpr char kTimesSumOfConstants[] = "function (X, W) -> (Y) { S[] = +(W[m]); Y = X * S; }";

class SessionMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    // Poisoning would fill, and thereby commit, nearly all of the memory, which LeaveFree
    // allocates.
    const std::string poison(EnvironmentValue("TARTAN_POISON"));
    unsetenv("TARTAN_POISON");
    auto device = Device::Open();
    if (!poison.empty()) setenv("TARTAN_POISON", poison.c_str(), 1);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  int64_t Allocated() const { return device_->hal()->statistics().allocated_bytes; }

  std::unique_ptr<Session> Make(TestModel::Body body) {
    auto session =
        Session::Create(std::make_shared<TestModel>(std::vector<int64_t>{-1}, std::move(body)),
                        device_, ExactAtOnce());
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // A session whose signatures share one weight.
  std::unique_ptr<Session> MakeWithWeight(const std::string& text) {
    const HostTensor weight = Constant(kElements, 1);
    return Make([=](const Tensor& x, Resolver*) {
      return Apply(text, {x, Tensor::Constant(weight)});
    });
  }

  // Runs on `size` twos.
  static absl::Status RunOn(Session& session, int64_t size, RunStatistics* statistics = nullptr) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> y,
                            session.Run({{"x", Constant(size, 2)}}, statistics));
    EXPECT_THAT(y.at(0).ToDoubles(), Each(2.0 * kElements));
    return absl::OkStatus();
  }

  // Allocates the device's memory except `bytes`.
  void LeaveFree(int64_t bytes) {
    const hal::DeviceInfo& info = device_->hal()->info();
    for (int64_t more = info.memory_bytes - Allocated() - bytes; more > 0;) {
      const int64_t piece = std::min(more, info.max_allocation_bytes);
      const auto taken = device_->hal()->Allocate(piece);
      ASSERT_TRUE(taken.ok()) << taken.status();
      taken_.push_back(*taken);
      more -= piece;
    }
  }

  std::shared_ptr<Device> device_;
  std::vector<hal::BufferPtr> taken_;
};

TEST_F(SessionMemory, HoldsAWeightOnceForAllSignatures) {
  const int64_t before = Allocated();
  const auto session = MakeWithWeight(kTimesSum);
  ASSERT_TRUE(RunOn(*session, 1).ok());
  EXPECT_GE(Allocated() - before, kBytes);
  for (int64_t size = 2; size <= 8; ++size) ASSERT_TRUE(RunOn(*session, size).ok());
  EXPECT_LT(Allocated() - before, kBytes + kBytes / 2);
}

// Models with weights in few bits do so: each binding makes their small constants anew.
TEST_F(SessionMemory, HoldsAWeightOnceThatIsRepackedWithConstantsOfEachBinding) {
  const HostTensor weight = Constant(kElements, 0.5);
  const auto session = Make([=](const Tensor& x, Resolver*) {
    const Tensor factor = Tensor::Constant(Constant(2, 2));
    return Apply(
        "function (X[N], W[M], F[K]) -> (Y) { V[m : M] = +(W[m] * F[k]);"
        " U = V / 2; Y[n : N] = +(X[n] * U[m]); }",
        {x, Tensor::Constant(weight), factor});
  });
  const int64_t before = Allocated();
  for (int64_t size = 1; size <= 8; ++size) ASSERT_TRUE(RunOn(*session, size).ok());
  EXPECT_GE(Allocated() - before, kBytes);
  EXPECT_LT(Allocated() - before, kBytes + kBytes / 2);
}

TEST_F(SessionMemory, HoldsNoWeightThatRunsDoNotRead) {
  const int64_t before = Allocated();
  const auto session = MakeWithWeight(kTimesSumOfConstants);
  for (int64_t size = 1; size <= 8; ++size) ASSERT_TRUE(RunOn(*session, size).ok());
  EXPECT_LT(Allocated() - before, kBytes / 2);
}

TEST_F(SessionMemory, IsGivenBackWithTheSession) {
  const int64_t before = Allocated();
  auto session = MakeWithWeight(kTimesSum);
  for (int64_t size = 1; size <= 3; ++size) ASSERT_TRUE(RunOn(*session, size).ok());
  session = nullptr;
  EXPECT_EQ(Allocated(), before);
}

TEST_F(SessionMemory, OfWhatWasNotUsedLongestIsGivenUpWhereItEnds) {
  std::vector<int64_t> bound;
  const auto session = Make([&](const Tensor& x, Resolver*) {
    bound.push_back(x.dims()[0]);
    // a separate constant per signature
    return Apply(kTimesSum, {x, Tensor::Constant(Constant(kElements, 1))});
  });
  LeaveFree(2 * kBytes + kBytes / 2);
  for (int64_t size : {1, 2, 1, 3}) {
    const absl::Status status = RunOn(*session, size);
    ASSERT_TRUE(status.ok()) << status;
  }
  bound.clear();
  RunStatistics statistics;
  ASSERT_TRUE(RunOn(*session, 1, &statistics).ok());
  EXPECT_EQ(statistics.memory_shortages, 0);
  EXPECT_TRUE(bound.empty()) << "it was used later than another";
  ASSERT_TRUE(RunOn(*session, 2, &statistics).ok());
  EXPECT_EQ(bound.back(), 2);
  EXPECT_GT(statistics.memory_shortages, 0);
}

TEST_F(SessionMemory, IsReportedAsExhaustedWhereNothingHelps) {
  const auto session = MakeWithWeight(kTimesSum);
  ASSERT_TRUE(RunOn(*session, 1).ok());
  LeaveFree(2 * kBytes);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = session->Run({{"x", Constant(2 * kElements, 2)}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ASSERT_TRUE(RunOn(*session, 1).ok());
  }
}

TEST_F(SessionMemory, IsReportedAsExhaustedWhereTheHostsIs) {
  std::atomic<bool> is_short = true;
  const auto session = Make([&](const Tensor& x, Resolver*) -> absl::StatusOr<Tensor> {
    if (is_short) throw std::bad_alloc();
    return Apply(kTimesSum, {x, Tensor::Constant(Constant(kElements, 1))});
  });
  absl::Status status;
  EXPECT_NO_THROW(status = RunOn(*session, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory"));
  is_short = false;
  EXPECT_TRUE(RunOn(*session, 1).ok()) << "a failure leaves nothing locked";
}

}  // namespace
}  // namespace tartan::api
