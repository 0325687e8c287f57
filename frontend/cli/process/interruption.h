// SPDX-License-Identifier: Apache-2.0
// Handles Ctrl-C immediately, whatever the program is doing: a separate thread writes the results
// so far.
#pragma once

#include <functional>
#include <thread>

namespace tartan::cli {

// While the object lives, the first SIGINT calls `answer` on another thread, which then ends the
// process with ExitCode::kInterrupted. A second SIGINT ends it immediately. Only one object may
// exist at a time.
class Interruption {
 public:
  explicit Interruption(std::function<void()> answer);
  Interruption(const Interruption&) = delete;
  ~Interruption();

 private:
  void Wait();

  const std::function<void()> answer_;
  int ends_[2] = {-1, -1};  // the two ends of the pipe that the signal handler writes to
  std::thread thread_;
};

}  // namespace tartan::cli
