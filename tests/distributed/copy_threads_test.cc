// SPDX-License-Identifier: Apache-2.0
#include "distributed/mpi/copy_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tartan::distributed {
namespace {

TEST(CopyThreads, CoverEachElementOnceInEveryRound) {
  for (const int count : {1, 2, 5}) {
    CopyThreads threads(count);
    for (const int64_t size : {1, 100, 100003}) {
      std::vector<int> visits(static_cast<size_t>(size) + 7);
      for (int round = 0; round < 20; ++round) {
        threads.Divide(7, size + 7, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) ++visits[static_cast<size_t>(i)];
        });
      }
      EXPECT_THAT(std::vector<int>(visits.begin(), visits.begin() + 7), testing::Each(0));
      EXPECT_THAT(std::vector<int>(visits.begin() + 7, visits.end()), testing::Each(20));
    }
  }
}

}  // namespace
}  // namespace tartan::distributed
