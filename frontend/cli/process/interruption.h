// SPDX-License-Identifier: Apache-2.0
// Answers Ctrl-C at once, whatever the program is doing: a thread of its own writes what there is
// so far.
#pragma once

#include <functional>
#include <thread>

namespace tartan::cli {

// While the object lives, the first SIGINT calls `answer` on another thread, which then ends the
// process with ExitCode::kInterrupted. A second SIGINT ends it without waiting. One at a time.
class Interruption {
 public:
  explicit Interruption(std::function<void()> answer);
  Interruption(const Interruption&) = delete;
  ~Interruption();

 private:
  void Wait();

  const std::function<void()> answer_;
  int ends_[2] = {-1, -1};  // of a pipe that the signal handler writes to
  std::thread thread_;
};

}  // namespace tartan::cli
