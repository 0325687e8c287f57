// SPDX-License-Identifier: Apache-2.0
// The program `tartan`.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "frontend/cli/crash_reporter.h"
#include "frontend/cli/process/exit_code.h"
#include "frontend/cli/process/large_stack.h"
#include "frontend/cli/program/app.h"

namespace {

// No cleanup is needed: files appear by rename, whole or not at all.
void OnInterrupt(int) {
  constexpr char kMessage[] = "\ntartan: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(static_cast<int>(tartan::cli::ExitCode::kInterrupted));
}

// Opens /dev/null for closed standard streams, so that no file opened later becomes stdout or
// stderr and gets the results. The substitute for stdout is not writable, like a closed one.
void KeepStandardStreamsTaken() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    [[maybe_unused]] const int taken = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Names this program as the compiler for background compilations in separate processes.
void NameCompiler() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0) return;
  path[size] = '\0';
  setenv("TARTAN_COMPILER", path, /*overwrite=*/0);
}

}  // namespace

int main(int argc, char** argv) {
  KeepStandardStreamsTaken();
  signal(SIGINT, OnInterrupt);
  signal(SIGPIPE, SIG_IGN);  // a closed stdout is detected when writing
  NameCompiler();
  return tartan::cli::EndProgram(tartan::cli::RunOnLargeStack([&] {
    tartan::cli::InstallCrashReporter();  // installs the signal stack of this thread
    return tartan::cli::RunApp(argc, argv);
  }));
}
