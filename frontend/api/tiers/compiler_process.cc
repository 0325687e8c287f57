// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/compiler_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace tartan::api {
namespace {

// A file without a name that begins with `bytes`, or -1. A pipe would raise SIGPIPE where the
// reader has died.
int FileOf(absl::string_view bytes) {
  const int file = memfd_create("tartan-compile", MFD_CLOEXEC);
  while (file >= 0 && !bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return -1;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (file >= 0) lseek(file, 0, SEEK_SET);
  return file;
}

// The process, or -1. It tells nothing: its reader would not know what of.
pid_t Start(const std::string& program, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] { posix_spawn_file_actions_destroy(&actions); };
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  std::string command(kCompileCommand);
  std::string name = program;
  char* const arguments[] = {name.data(), command.data(), nullptr};
  pid_t process = -1;
  if (posix_spawn(&process, program.c_str(), &actions, nullptr, arguments, environ) != 0) return -1;
  return process;
}

// Where somebody else has waited for the process, what it did shows on the disk.
absl::Status StatusOf(pid_t waited, int status) {
  if (waited < 0) return absl::OkStatus();
  if (WIFSIGNALED(status)) {
    return absl::InternalError(
        absl::StrCat("the compiler's process was ended by signal ", WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  if (code == kCompileDone) return absl::OkStatus();
  if (code == kCompileRefused || code == 127) {
    return absl::UnimplementedError("the compiler's process does not know the request");
  }
  return absl::InternalError(absl::StrCat("the compiler's process ended with ", code));
}

}  // namespace

std::string CompilerProgram() {
  const char* named = std::getenv("TARTAN_COMPILER");
  return named == nullptr ? "" : named;
}

absl::Status CompileInProcess(const std::string& program, const std::string& request,
                              const Background::GoOn& go_on) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
  const int input = FileOf(request);
  if (input < 0) return absl::UnimplementedError("there is no file to write the request to");
  const pid_t process = Start(program, input);
  close(input);
  if (process < 0) return absl::UnimplementedError(absl::StrCat(program, " cannot be started"));
  while (true) {
    int status = 0;
    const pid_t waited = waitpid(process, &status, WNOHANG);
    if (waited == process || (waited < 0 && errno != EINTR)) return StatusOf(waited, status);
    if (!go_on()) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return absl::CancelledError("the compiler's process is not needed any more");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace tartan::api
