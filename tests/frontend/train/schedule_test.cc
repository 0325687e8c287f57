// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tartan::train::schedule_test {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

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

// The rates are those of PyTorch's ReduceLROnPlateau for these losses.
TEST(Plateau, ReducesTheRateAsPyTorchDoes) {
  const auto rates = [](absl::string_view text, const std::vector<double>& losses) {
    const auto schedule = ParseSchedule(text);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    Plateau plateau;
    std::vector<double> rates;
    for (const double loss : losses) {
      plateau.Add(*schedule, 0.8, loss);
      rates.push_back(0.8 * plateau.share);
    }
    return rates;
  };
  EXPECT_THAT(rates("plateau:factor=0.5,patience=1,threshold=0.01,minimum=0.03",
                    {1.0, 0.9, 0.89995, 0.89, 0.895, 0.889, 0.95, 0.8889, 0.8888, 0.7, 0.71, 0.72,
                     0.73, 0.74, 0.75, 0.76, 0.77, 0.5}),
              Pointwise(DoubleNear(1e-12), {0.8, 0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2,
                                            0.1, 0.1, 0.05, 0.05, 0.03, 0.03, 0.03}));
  // The second last reduction is the last one of more than 1e-8.
  EXPECT_THAT(rates("plateau:patience=0", {NAN, 1, 1, NAN, 2, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1}),
              Pointwise(DoubleNear(1e-12),
                        {8e-2, 8e-2, 8e-3, 8e-4, 8e-5, 8e-5, 8e-6, 8e-7, 8e-8, 8e-9, 8e-9, 8e-9}));
}

TEST(Plateau, NeedsAFactorBelowOne) {
  EXPECT_THAT(ParseSchedule("plateau:factor=1").status().message(), HasSubstr("is not below 1"));
}

}  // namespace
}  // namespace tartan::train::schedule_test
