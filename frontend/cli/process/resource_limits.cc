// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/process/resource_limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/process_limits.h"

namespace tartan::cli {
namespace {

// Formatted in advance, because a signal handler cannot format.
char message_of_end[128];

void OnTimeUp(int) {
  [[maybe_unused]] const ssize_t ignored =
      write(STDERR_FILENO, message_of_end, std::strlen(message_of_end));
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

absl::Status Refused(const char* option) {
  return At(Stage::kUsage,
            absl::InvalidArgumentError(absl::StrCat(
                option, " cannot be enforced on this system: ", std::strerror(errno))));
}

absl::Status LimitTime(double seconds) {
  std::snprintf(message_of_end, sizeof(message_of_end), "tartan: the time is up (--max-time %g)\n",
                seconds);
  signal(SIGALRM, OnTimeUp);
  itimerval clock = {};
  clock.it_value.tv_sec = static_cast<time_t>(seconds);
  clock.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  return setitimer(ITIMER_REAL, &clock, nullptr) == 0 ? absl::OkStatus() : Refused("--max-time");
}

absl::Status LimitMemory(int64_t bytes) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return Refused("--max-memory");
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < static_cast<rlim_t>(bytes)) {
    return absl::OkStatus();  // a lower limit is set already
  }
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? absl::OkStatus() : Refused("--max-memory");
}

}  // namespace

absl::Status ApplyLimits(const ResourceLimits& limits) {
  if (limits.file_bytes > 0) {
    setenv(kMaxFileSizeVariable, absl::StrCat(limits.file_bytes).c_str(), /*overwrite=*/1);
  }
  absl::Status status;
  if (limits.memory_bytes > 0) status.Update(LimitMemory(limits.memory_bytes));
  if (limits.seconds > 0) status.Update(LimitTime(limits.seconds));
  return status;
}

}  // namespace tartan::cli
