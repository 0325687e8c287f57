// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/help_choice.h"

#include <gtest/gtest.h>

namespace tartan::opencl::help_choice_test {
namespace {

TEST(HelpChoice, AsksForHelpWhereItPays) {
  const auto helped_of = [](int64_t alone, int64_t helped) {
    HelpChoice choice;
    int count = 0;
    for (int run = 0; run < 640; ++run) {
      const bool wants = choice.WantsHelp();
      count += wants ? 1 : 0;
      choice.Note(wants, wants ? helped : alone);
    }
    return count;
  };
  EXPECT_EQ(helped_of(9'000, 5'000), 1);
  EXPECT_GT(helped_of(900'000, 500'000), 600);
  const int tried = helped_of(900'000, 1'500'000);
  EXPECT_GT(tried, 4);
  EXPECT_LT(tried, 40);
}

// Long executions always use several threads, whether there is one or many.
TEST(HelpChoice, AlwaysAsksForHelpWithLongRuns) {
  HelpChoice choice;
  for (int run = 0; run < 640; ++run) {
    ASSERT_TRUE(choice.WantsHelp()) << run;
    choice.Note(true, 5'000'000);
  }
}

// The first execution includes compilation.
TEST(HelpChoice, TakesNoRunForALongOneForTheFirstOnesSake) {
  HelpChoice choice;
  choice.Note(true, 50'000'000);
  EXPECT_TRUE(choice.WantsHelp());
  choice.Note(true, 20'000);
  EXPECT_FALSE(choice.WantsHelp());
}

}  // namespace
}  // namespace tartan::opencl::help_choice_test
