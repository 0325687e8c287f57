// SPDX-License-Identifier: Apache-2.0
// Calls a function in forked processes, to find locks that another thread held during the fork.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "gtest/gtest.h"

namespace tartan::api {

// Calls `in_child` in forked processes while another thread calls `in_parent` all the time.
inline void CallAfterForks(int forks, const std::function<bool()>& in_parent,
                           const std::function<bool()>& in_child) {
  ASSERT_TRUE(in_parent());
  std::atomic<bool> has_ended = false;
  std::thread other([&] {
    while (!has_ended) EXPECT_TRUE(in_parent());
  });
  int status = 0;
  for (int i = 0; i < forks && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(in_child() ? 0 : 1);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_EQ(status, 0);
  has_ended = true;
  other.join();
}

inline void CallAfterForks(int forks, const std::function<bool()>& work) {
  CallAfterForks(forks, work, work);
}

}  // namespace tartan::api
