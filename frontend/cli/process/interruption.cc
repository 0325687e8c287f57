// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/process/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "frontend/cli/process/exit_code.h"

namespace tartan::cli {
namespace {

constexpr char kInterrupted = 'i';
constexpr char kOver = 'o';

volatile sig_atomic_t pipe_of_interruption = -1;
volatile sig_atomic_t was_interrupted = 0;

void TellThread(int) {
  const int saved = errno;
  const bool is_told = was_interrupted == 0 && pipe_of_interruption >= 0 &&
                       write(pipe_of_interruption, &kInterrupted, 1) == 1;
  was_interrupted = 1;
  if (!is_told) _exit(static_cast<int>(ExitCode::kInterrupted));
  errno = saved;
}

}  // namespace

Interruption::Interruption(std::function<void()> answer) : answer_(std::move(answer)) {
  if (pipe2(ends_, O_CLOEXEC) == 0) {
    pipe_of_interruption = ends_[1];
    thread_ = std::thread([this] { Wait(); });
  }
  signal(SIGINT, TellThread);
}

Interruption::~Interruption() {
  signal(SIGINT, SIG_IGN);  // everything is written and the process is ending
  pipe_of_interruption = -1;
  if (!thread_.joinable()) return;
  [[maybe_unused]] const ssize_t ignored = write(ends_[1], &kOver, 1);
  thread_.join();
  for (const int end : ends_) close(end);
}

void Interruption::Wait() {
  char told = kOver;
  while (read(ends_[0], &told, 1) < 0 && errno == EINTR) {
  }
  if (told != kInterrupted) return;
  answer_();
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace tartan::cli
