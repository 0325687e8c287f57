// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tartan::data::order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> Counted(int64_t size) {
  std::vector<int64_t> rows(static_cast<size_t>(size));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(EpochOrder, IsTheSameOnEveryPlatform) {
  EXPECT_THAT(EpochOrder(Counted(8), 1, 0), ElementsAre(5, 0, 1, 3, 7, 2, 4, 6));
  EXPECT_THAT(EpochOrder(Counted(8), 1, 1), ElementsAre(4, 2, 1, 7, 0, 3, 6, 5));
  EXPECT_THAT(EpochOrder(Counted(8), 2, 0), ElementsAre(7, 6, 5, 4, 0, 2, 3, 1));
}

TEST(EpochOrder, HasEveryRowOnce) {
  std::vector<int64_t> order = EpochOrder(Counted(1000), 7, 3);
  EXPECT_NE(order, Counted(1000));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, Counted(1000));
  EXPECT_THAT(EpochOrder({}, 7, 3), ElementsAre());
  const std::vector<int64_t> one = {5};
  EXPECT_THAT(EpochOrder(one, 7, 3), ElementsAre(5));
}

TEST(EpochOrder, PutsEveryRowEverywhereAboutAsOften) {
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 24000; ++epoch) ++counts[EpochOrder(Counted(4), 11, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  // The expected count is 1000, its standard deviation 31.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * 31);
}

TEST(SplitRows, DrawsAShareThatIsTheSameEachTime) {
  const auto split = SplitRows(10, 0.3, 1);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(split->validation, ElementsAre(0, 2, 5));
  std::vector<int64_t> both = split->training;
  EXPECT_TRUE(std::is_sorted(both.begin(), both.end()));
  both.insert(both.end(), split->validation.begin(), split->validation.end());
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, Counted(10));
  EXPECT_NE(SplitRows(1000, 100, 1)->validation, SplitRows(1000, 100, 2)->validation);
}

TEST(SplitRows, TakesSharesAndNumbers) {
  const auto count = [](int64_t size, double validation) {
    return SplitRows(size, validation, 5)->validation.size();
  };
  EXPECT_EQ(count(10, 0), 0u);
  EXPECT_EQ(count(10, 0.01), 1u);
  EXPECT_EQ(count(10, 0.25), 3u);
  EXPECT_EQ(count(10, 1), 1u);
  EXPECT_EQ(count(10, 9), 9u);
  EXPECT_EQ(SplitRows(10, 0, 5)->training, Counted(10));
}

TEST(SplitRows, LeavesSomethingToTrainOn) {
  EXPECT_THAT(std::string(SplitRows(10, 10, 1).status().message()),
              HasSubstr("with 10 of 10 examples for validation"));
  EXPECT_THAT(std::string(SplitRows(1, 0.1, 1).status().message()), HasSubstr("1 of 1 examples"));
  for (const double wrong : {-1.0, 1.5, std::nan("")}) {
    EXPECT_EQ(SplitRows(10, wrong, 1).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tartan::data::order_test
