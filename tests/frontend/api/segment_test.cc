// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/segment.h"

#include <thread>

#include "gtest/gtest.h"

namespace tartan::api {
namespace {

// Releases the chain in a thread, whose stack is smaller than the main thread's.
TEST(Segment, MayFollowAnyNumberOfOthersWhenItIsReleased) {
  auto first = std::make_shared<Segment>();
  std::shared_ptr<Segment> last = first;
  for (int i = 0; i < 1'000'000; ++i) {
    auto segment = std::make_shared<Segment>();
    last->next.emplace_back("", segment);
    last = std::move(segment);
  }
  const std::weak_ptr<Segment> weak_first = first;
  std::thread([&] { first.reset(); }).join();
  EXPECT_TRUE(weak_first.expired());
  EXPECT_EQ(last.use_count(), 1);
}

TEST(Segment, KeepsWhatComesAfterOneThatAnotherRunIsAt) {
  auto first = std::make_shared<Segment>();
  auto second = std::make_shared<Segment>();
  const auto third = std::make_shared<Segment>();
  second->next.emplace_back("", third);
  first->next.emplace_back("", second);
  first.reset();
  ASSERT_EQ(second->next.size(), 1u);
  EXPECT_EQ(second->next.front().second, third);
}

}  // namespace
}  // namespace tartan::api
