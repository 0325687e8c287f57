// SPDX-License-Identifier: Apache-2.0
// Tests of overlapping runs of a session.
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "frontend/api/function.h"
#include "frontend/api/session.h"
#include "gtest/gtest.h"
#include "tests/frontend/api/test_model.h"

namespace tartan::api {
namespace {

constexpr std::chrono::seconds kAlwaysHelpNanoseconds(60);

// A gate that is initially closed.
class Door {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  // Waits until the gate opens; false after `patience`.
  bool Pass(std::chrono::milliseconds patience = kAlwaysHelpNanoseconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return opened_.wait_for(lock, patience, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

absl::StatusOr<Tensor> Doubled(const Tensor& x) {
  return Apply("function (X) -> (Y) { Y = 2 * X; }", {x});
}

class SessionRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  std::unique_ptr<Session> Make(TestModel::Body body) {
    auto session =
        Session::Create(std::make_shared<TestModel>(std::vector<int64_t>{-1}, std::move(body)),
                        device_, ExactAtOnce());
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  // Whether a run on `size` elements returns their doubles.
  static bool DoublesAtSize(Session& session, int64_t size) {
    const auto y = session.Run({{"x", Constant(size, 21)}});
    EXPECT_TRUE(y.ok()) << y.status();
    return y.ok() && y->at(0).ToDoubles() == std::vector<double>(static_cast<size_t>(size), 42);
  }

  std::shared_ptr<Device> device_;
};

TEST_F(SessionRuns, GoOnInOneThreadWhileAnotherBindsANewShape) {
  Door binding;
  Door may_go_on;
  const auto session = Make([&](const Tensor& x, Resolver*) -> absl::StatusOr<Tensor> {
    if (x.dims()[0] == 7) {
      binding.Open();
      may_go_on.Pass();
    }
    return Doubled(x);
  });
  ASSERT_TRUE(DoublesAtSize(*session, 5));
  std::thread other([&] { EXPECT_TRUE(DoublesAtSize(*session, 7)); });
  ASSERT_TRUE(binding.Pass());
  std::future<bool> known = std::async(std::launch::async, DoublesAtSize, std::ref(*session), 5);
  EXPECT_EQ(known.wait_for(kAlwaysHelpNanoseconds / 6), std::future_status::ready)
      << "it waits for the other";
  std::future<bool> fresh = std::async(std::launch::async, DoublesAtSize, std::ref(*session), 6);
  EXPECT_EQ(fresh.wait_for(kAlwaysHelpNanoseconds / 6), std::future_status::ready)
      << "it waits for the other";
  may_go_on.Open();
  other.join();
  EXPECT_TRUE(known.get());
  EXPECT_TRUE(fresh.get());
}

TEST_F(SessionRuns, BindANewShapeOnceForAllThreadsThatAskForIt) {
  constexpr int kThreads = 4;
  std::atomic<int> binds = 0;
  Door second_bind;
  const auto session = Make([&](const Tensor& x, Resolver*) -> absl::StatusOr<Tensor> {
    if (++binds > 1) second_bind.Open();
    // Gives the other threads time to request the same signature.
    second_bind.Pass(std::chrono::milliseconds(200));
    return Doubled(x);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] { EXPECT_TRUE(DoublesAtSize(*session, 5)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(binds, 1);
}

TEST_F(SessionRuns, TryAgainWhatFailedInAnotherThread) {
  std::atomic<int> binds = 0;
  Door first_fails;
  const auto session = Make([&](const Tensor& x, Resolver*) -> absl::StatusOr<Tensor> {
    if (++binds > 1) return Doubled(x);
    first_fails.Pass();
    return absl::InvalidArgumentError("the first to bind fails");
  });
  std::future<absl::Status> first = std::async(std::launch::async, [&] {
    return session->Run({{"x", Constant(5, 21)}}).status();
  });
  while (binds == 0) std::this_thread::yield();
  std::future<bool> second = std::async(std::launch::async, DoublesAtSize, std::ref(*session), 5);
  first_fails.Open();
  EXPECT_EQ(first.get().message(), "the first to bind fails");
  EXPECT_TRUE(second.get());
}

}  // namespace
}  // namespace tartan::api
