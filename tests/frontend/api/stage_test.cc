#include "frontend/api/stage.h"

#include <thread>

#include "gtest/gtest.h"

namespace tartan::api {
namespace {

// Threads have smaller stacks than a program's first one.
TEST(Stage, MayFollowAnyNumberOfOthersWhenItIsReleased) {
  auto first = std::make_shared<Stage>();
  std::shared_ptr<Stage> last = first;
  for (int i = 0; i < 1'000'000; ++i) {
    auto stage = std::make_shared<Stage>();
    last->next.emplace_back("", stage);
    last = std::move(stage);
  }
  const std::weak_ptr<Stage> weak_first = first;
  std::thread([&] { first.reset(); }).join();
  EXPECT_TRUE(weak_first.expired());
  EXPECT_EQ(last.use_count(), 1);
}

TEST(Stage, KeepsWhatComesAfterOneThatAnotherRunIsAt) {
  auto first = std::make_shared<Stage>();
  auto second = std::make_shared<Stage>();
  const auto third = std::make_shared<Stage>();
  second->next.emplace_back("", third);
  first->next.emplace_back("", second);
  first.reset();
  ASSERT_EQ(second->next.size(), 1u);
  EXPECT_EQ(second->next.front().second, third);
}

}  // namespace
}  // namespace tartan::api
