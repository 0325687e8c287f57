// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/background/background.h"

#include <cstdlib>
#include <future>
#include <mutex>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::api {
namespace {

// Collects the names of its tasks in the order in which they run.
class Names {
 public:
  Background::Task Task(std::string name, double urgency) {
    return {[urgency] { return urgency; },
            [this, name](const Background::ContinueCallback&) {
              std::lock_guard<std::mutex> lock(mutex_);
              names_ += name;
            }};
  }
  std::string names() {
    std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::string names_;
};

TEST(Background, DoesTheMostUrgentFirstAndWhatNobodyWantsNever) {
  Names names;
  std::promise<void> done;
  Background& background = Background::OfProcess();
  {
    const Background::Pause pause;  // starts no task until all are added
    ASSERT_TRUE(background.Add(
        {[] { return 0.0; }, [&](const Background::ContinueCallback&) { done.set_value(); }}));
    ASSERT_TRUE(background.Add(names.Task("b", 2)));
    ASSERT_TRUE(background.Add(names.Task("never", -1)));
    ASSERT_TRUE(background.Add(names.Task("a", 3)));
    ASSERT_TRUE(background.Add(names.Task("c", 1)));
  }
  done.get_future().wait();
  EXPECT_EQ(names.names(), "abc");
}

TEST(Background, LetsATaskGoOnOnlyWhereNobodyWaits) {
  std::promise<void> begun;
  std::promise<void> paused;
  std::promise<bool> went_on;
  ASSERT_TRUE(
      Background::OfProcess().Add({[] { return 1.0; },
                                   [&](const Background::ContinueCallback& should_continue) {
                                     begun.set_value();
                                     paused.get_future().wait();
                                     went_on.set_value(should_continue());
                                   }}));
  begun.get_future().wait();
  std::future<bool> result = went_on.get_future();
  {
    const Background::Pause pause;
    paused.set_value();
    EXPECT_EQ(result.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  }
  EXPECT_TRUE(result.get());
}

// Exits the process during a task that runs until `should_continue` returns false.
void ExitWhileATaskRuns() {
  std::promise<void> begun;
  Background::OfProcess().Add({[] { return 1.0; },
                               [&](const Background::ContinueCallback& should_continue) {
                                 begun.set_value();
                                 while (should_continue()) {
                                 }
                                 std::fprintf(stderr, "the task has ended");
                               }});
  begun.get_future().wait();
  std::exit(3);
}

TEST(BackgroundDeathTest, EndsWithTheProcessOnceItsTaskMay) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(ExitWhileATaskRuns(), testing::ExitedWithCode(3), "the task has ended");
}

// Exits from inside a task, as LLVM does in a compiling thread when the disk is full.
void ExitInATask() {
  Background::OfProcess().Add(
      {[] { return 1.0; }, [](const Background::ContinueCallback&) { std::exit(4); }});
  std::promise<void>().get_future().wait();
}

TEST(BackgroundDeathTest, MayEndTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(ExitInATask(), testing::ExitedWithCode(4), "");
}

}  // namespace
}  // namespace tartan::api
