// SPDX-License-Identifier: Apache-2.0
#include "tile/base/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

namespace tartan {
namespace {

TEST(Cancellation, WorkOfAThreadIsCancelledByAnotherThread) {
  EXPECT_TRUE(CheckCancellation().ok());
  const auto cancellation = std::make_shared<Cancellation>();
  const Cancellation::Scope scope(cancellation);
  EXPECT_TRUE(CheckCancellation().ok());
  std::thread([&] {
    cancellation->Cancel();
    EXPECT_TRUE(CheckCancellation().ok());  // other threads go on
  }).join();
  EXPECT_TRUE(absl::IsCancelled(CheckCancellation()));
}

TEST(Cancellation, TheInnermostScopeCounts) {
  const auto cancelled = std::make_shared<Cancellation>();
  cancelled->Cancel();
  const Cancellation::Scope outer(cancelled);
  {
    const Cancellation::Scope inner(std::make_shared<Cancellation>());
    EXPECT_TRUE(CheckCancellation().ok());
  }
  EXPECT_TRUE(absl::IsCancelled(CheckCancellation()));
}

}  // namespace
}  // namespace tartan
