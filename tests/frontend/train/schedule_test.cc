// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tartan::train::schedule_test {
namespace {

using testing::HasSubstr;

double At(absl::string_view text, int64_t step, int64_t steps) {
  const auto schedule = ParseSchedule(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return schedule->At(step, steps);
}

TEST(Schedule, RisesAndFallsAsItsNameSays) {
  EXPECT_EQ(At("constant", 7, 10), 1);
  EXPECT_DOUBLE_EQ(At("step:every=3,factor=0.5", 2, 10), 1);
  EXPECT_DOUBLE_EQ(At("step:every=3,factor=0.5", 7, 10), 0.25);
  EXPECT_DOUBLE_EQ(At("linear", 5, 10), 0.5);
  EXPECT_DOUBLE_EQ(At("linear:end=0.2", 10, 10), 0.2);
  EXPECT_DOUBLE_EQ(At("cosine", 0, 10), 1);
  EXPECT_DOUBLE_EQ(At("cosine", 5, 10), 0.5);
  EXPECT_NEAR(At("cosine", 10, 10), 0, 1e-15);
  EXPECT_NEAR(At("one_cycle", 0, 10), 0.04, 1e-15);
  EXPECT_DOUBLE_EQ(At("one_cycle", 3, 10), 1);
  EXPECT_NEAR(At("one_cycle", 10, 10), 0, 1e-15);
}

TEST(Schedule, WarmsUpBeforeItBegins) {
  EXPECT_DOUBLE_EQ(At("cosine:warmup=4", 0, 14), 0.25);
  EXPECT_DOUBLE_EQ(At("cosine:warmup=4", 3, 14), 1);
  EXPECT_DOUBLE_EQ(At("cosine:warmup=4", 4, 14), 1);
  EXPECT_DOUBLE_EQ(At("cosine:warmup=4", 9, 14), 0.5);
}

TEST(Schedule, SaysWhatItDoesNotKnow) {
  EXPECT_THAT(ParseSchedule("quick").status().message(), HasSubstr("one_cycle"));
  EXPECT_THAT(ParseSchedule("step:each=3").status().message(), HasSubstr("'each=3'"));
  EXPECT_THAT(ParseSchedule("step:every=0").status().message(), HasSubstr("'every=0'"));
}

}  // namespace
}  // namespace tartan::train::schedule_test
