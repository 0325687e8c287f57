// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/background/idle_time.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace tartan::api {
namespace {

using std::chrono::milliseconds;

// An IdleTime with a clock that the test advances. The clock starts just after the background's
// share of a period.
class IdleTimes : public ::testing::Test {
 protected:
  explicit IdleTimes(int processors = IdleTime::kFewProcessors)
      : time_(processors, [this] { return now_; }) {}

  static IdleTime::Duration Share() {
    return std::chrono::duration_cast<IdleTime::Duration>(IdleTime::kShare * IdleTime::kPeriod);
  }

  IdleTime::Duration now_ = 1000 * IdleTime::kPeriod + Share() + milliseconds(1);
  IdleTime time_;
};

TEST_F(IdleTimes, IsAllTimeWhereNothingRuns) {
  EXPECT_TRUE(time_.MayWork());
  now_ += std::chrono::hours(1);
  EXPECT_TRUE(time_.MayWork());
}

TEST_F(IdleTimes, EndsWithARunAndBeginsAPauseAfterIt) {
  {
    const IdleTime::Run run(time_);
    EXPECT_FALSE(time_.MayWork());
  }
  EXPECT_FALSE(time_.MayWork()) << "the next run may come at once";
  now_ += IdleTime::kPause;
  EXPECT_TRUE(time_.MayWork());
}

TEST_F(IdleTimes, HaveAShareOfALoopOfRuns) {
  int works = 0;
  constexpr int kMilliseconds = 1200;
  for (int ms = 0; ms < kMilliseconds; ++ms) {
    const IdleTime::Run run(time_);
    works += time_.MayWork() ? 1 : 0;
    now_ += milliseconds(1);
  }
  EXPECT_NEAR(works, IdleTime::kShare * kMilliseconds, 1);
}

TEST_F(IdleTimes, StopAProcessInTheMomentThatARunBegins) {
  std::string calls;
  const IdleTime::Worker worker(time_, [&](bool goes_on) { calls += goes_on ? "+" : "-"; });
  EXPECT_EQ(calls, "");
  std::optional<IdleTime::Run> run(time_);
  EXPECT_EQ(calls, "-");
  const IdleTime::Run another(time_);
  EXPECT_EQ(calls, "-");
  run.reset();
  EXPECT_FALSE(time_.MayWork()) << "another one is under way";
  EXPECT_EQ(calls, "-");
}

TEST_F(IdleTimes, ContinueAProcessAfterAPause) {
  std::string calls;
  const IdleTime::Worker worker(time_, [&](bool goes_on) { calls += goes_on ? "+" : "-"; });
  { const IdleTime::Run run(time_); }
  now_ += IdleTime::kPause;
  EXPECT_EQ(calls, "-");
  EXPECT_TRUE(time_.MayWork());
  EXPECT_EQ(calls, "-+");
}

TEST_F(IdleTimes, StopAProcessThatBeginsBesideARun) {
  const IdleTime::Run run(time_);
  std::string calls;
  const IdleTime::Worker worker(time_, [&](bool goes_on) { calls += goes_on ? "+" : "-"; });
  EXPECT_EQ(calls, "-");
}

TEST_F(IdleTimes, AreNoneWhereSomebodyWaitsForACompilation) {
  std::string calls;
  const IdleTime::Worker worker(time_, [&](bool goes_on) { calls += goes_on ? "+" : "-"; });
  {
    const IdleTime::Hold hold(time_);
    EXPECT_EQ(calls, "-");
    now_ += std::chrono::hours(1);
    EXPECT_FALSE(time_.MayWork());
  }
  EXPECT_TRUE(time_.MayWork());
  EXPECT_EQ(calls, "-+");
}

class IdleTimesOfManyProcessors : public IdleTimes {
 protected:
  IdleTimesOfManyProcessors() : IdleTimes(IdleTime::kFewProcessors + 1) {}
};

TEST_F(IdleTimesOfManyProcessors, AreAllTimeBesideRuns) {
  const IdleTime::Run run(time_);
  EXPECT_TRUE(time_.MayWork());
}

TEST_F(IdleTimesOfManyProcessors, AreNoneWhereSomebodyWaitsForACompilation) {
  const IdleTime::Hold hold(time_);
  EXPECT_FALSE(time_.MayWork());
}

}  // namespace
}  // namespace tartan::api
