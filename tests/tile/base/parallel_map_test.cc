// SPDX-License-Identifier: Apache-2.0
#include "tile/base/parallel_map.h"

#include <gtest/gtest.h>

#include <memory>

namespace tartan {
namespace {

TEST(ParallelMap, ReturnsResultsInOrder) {
  const auto squares = ParallelMap(50, [](int i) { return i * i; });
  ASSERT_EQ(squares.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(squares[i], i * i);
}

TEST(ParallelMap, TakesResultsThatCannotBeCopied) {
  const auto made = ParallelMap(3, [](int i) { return std::make_unique<int>(i); });
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(*made[2], 2);
}

TEST(ParallelMap, CallsNothingForNoArguments) {
  EXPECT_TRUE(ParallelMap(0, [](int) { return 1; }).empty());
}

}  // namespace
}  // namespace tartan
