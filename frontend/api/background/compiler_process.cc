// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/background/compiler_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "tile/base/clock.h"
#include "tile/base/environment.h"

namespace tartan::api {
namespace {

// Writes all bytes and rewinds the file.
bool WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return lseek(file, 0, SEEK_SET) == 0;
}

// Starts the process; -1 on failure. Its output is discarded, because a reader would lack the
// context.
pid_t Spawn(const std::string& program, int device, bool is_idle, int request, int awaited) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  if (is_idle) {
    const sched_param none = {};
    posix_spawnattr_setschedpolicy(&attributes, SCHED_IDLE);
    posix_spawnattr_setschedparam(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSCHEDULER);
  }
  posix_spawn_file_actions_adddup2(&actions, request, STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, awaited, kAwaitedFile);
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
  // The child must not inherit descriptors: a file of the caller would stay open, and locked, while
  // it compiles.
  posix_spawn_file_actions_addclosefrom_np(&actions, kAwaitedFile + 1);
#endif
  std::string command(kCompileCommand);
  std::string index = absl::StrCat(device);
  std::string name = program;
  char* const arguments[] = {name.data(), command.data(), index.data(), nullptr};
  pid_t process = -1;
  if (posix_spawn(&process, program.c_str(), &actions, &attributes, arguments, environ) != 0) {
    return -1;
  }
  return process;
}

// If the process was already reaped elsewhere, assumes success; the disk shows its results.
absl::Status StatusOf(pid_t waited, int status) {
  if (waited < 0) return absl::OkStatus();
  if (WIFSIGNALED(status)) {
    return absl::InternalError(
        absl::StrCat("the compiler's process was ended by signal ", WTERMSIG(status)));
  }
  const int code = WEXITSTATUS(status);
  if (code == kCompileDone) return absl::OkStatus();
  if (code == kCompileRefused || code == 127) {
    return absl::UnimplementedError("the compiler's process does not understand the request");
  }
  return absl::InternalError(absl::StrCat("the compiler's process ended with ", code));
}

// Processes that are ending: nobody waits for a driver that releases its context.
class EndingProcesses {
 public:
  static EndingProcesses& Get() {
    static EndingProcesses& processes = *new EndingProcesses();  // other threads may outlive main
    return processes;
  }

  void Add(pid_t process) {
    std::lock_guard<std::mutex> lock(mutex_);
    processes_.push_back(process);
  }

  // Frees the entries of ended processes in the system's table.
  void Reap() {
    std::lock_guard<std::mutex> lock(mutex_);
    processes_.erase(
        std::remove_if(processes_.begin(), processes_.end(),
                       [](pid_t process) { return waitpid(process, nullptr, WNOHANG) != 0; }),
        processes_.end());
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> processes_;  // guarded by mutex_
};

absl::Status CompileStoppable(const std::string& program, int device, bool is_idle,
                              absl::string_view request, IdleTime& time,
                              const Background::ContinueCallback& should_continue) {
  const std::unique_ptr<CompilerProcess> process = CompilerProcess::Start(program, device, is_idle);
  if (process == nullptr) {
    return absl::UnimplementedError(absl::StrCat(program, " cannot be started"));
  }
  const int signals = process->OpenSignals();
  const absl::Cleanup close_signals = [&] {
    if (signals >= 0) close(signals);
  };
  const IdleTime::Worker worker(time, [signals](bool goes_on) {
#ifdef SYS_pidfd_send_signal
    if (signals >= 0) {
      syscall(SYS_pidfd_send_signal, signals, goes_on ? SIGCONT : SIGSTOP, nullptr, 0);
    }
#else
    static_cast<void>(goes_on);
#endif
  });
  return process->Compile(request, should_continue);
}

}  // namespace

std::string CompilerProgram() { return std::string(EnvironmentValue("TARTAN_COMPILER")); }

std::unique_ptr<CompilerProcess> CompilerProcess::Start(const std::string& program, int device,
                                                        bool is_idle) {
  EndingProcesses::Get().Reap();
  const int request = memfd_create("tartan-compile", MFD_CLOEXEC);
  int ends[2] = {-1, -1};
  pid_t process = -1;
  if (request >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
    process = Spawn(program, device, is_idle, request, ends[0]);
    close(ends[0]);
  }
  if (process >= 0) {
    return std::unique_ptr<CompilerProcess>(new CompilerProcess(process, request, ends[1]));
  }
  for (const int file : {request, ends[1]}) {
    if (file >= 0) close(file);
  }
  return nullptr;
}

CompilerProcess::~CompilerProcess() {
  if (process_ >= 0) {
    kill(process_, SIGKILL);
    EndingProcesses::Get().Add(process_);
  }
  EndingProcesses::Get().Reap();
  close(request_);
  close(waiting_);
}

void CompilerProcess::Kill() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool CompilerProcess::IsDone() {
  constexpr int kBetweenLooksMs = 10;
  pollfd file = {waiting_, POLLIN, 0};
  if (poll(&file, 1, kBetweenLooksMs) <= 0) return false;
  char byte = 0;
  if (recv(waiting_, &byte, 1, MSG_DONTWAIT) == 1) return true;
  // The process has closed its side, and is about to end.
  std::this_thread::sleep_for(std::chrono::milliseconds(kBetweenLooksMs));
  return false;
}

absl::Status CompilerProcess::Compile(absl::string_view request,
                                      const Background::ContinueCallback& should_continue) {
  if (!WriteAll(request_, request)) {
    return absl::UnimplementedError("the request cannot be written to the compiler's process");
  }
  shutdown(waiting_, SHUT_WR);
  while (true) {
    if (IsDone()) {
      EndingProcesses::Get().Add(std::exchange(process_, -1));
      return absl::OkStatus();
    }
    int status = 0;
    const pid_t waited = waitpid(process_, &status, WNOHANG);
    if (waited == process_ || (waited < 0 && errno != EINTR)) {
      process_ = -1;
      return StatusOf(waited, status);
    }
    if (!should_continue()) {
      Kill();
      return absl::CancelledError("the compilation is no longer needed");
    }
  }
}

int CompilerProcess::OpenSignals() const {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
#else
  return -1;
#endif
}

absl::Status CompileInProcess(const std::string& program, int device, absl::string_view request,
                              const Background::ContinueCallback& should_continue) {
  const std::unique_ptr<CompilerProcess> process = CompilerProcess::Start(program, device);
  if (process == nullptr) {
    return absl::UnimplementedError(absl::StrCat(program, " cannot be started"));
  }
  return process->Compile(request, should_continue);
}

absl::Status CompileInIdleTime(const std::string& program, int device, absl::string_view request,
                               const Background::ContinueCallback& should_continue, IdleTime& time,
                               std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  bool is_late = false;
  const absl::Status status =
      CompileStoppable(program, device, /*is_idle=*/true, request, time, [&] {
        is_late = Clock::now() >= end;
        return !is_late && should_continue();
      });
  if (!absl::IsCancelled(status) || !is_late) return status;
  // Kernels compiled before the timeout are in the disk cache.
  return CompileStoppable(program, device, /*is_idle=*/false, request, time, should_continue);
}

void AwaitRequest() {
  char none = 0;
  while (read(kAwaitedFile, &none, 1) < 0 && errno == EINTR) {
  }
}

void EndAnswered() {
  const char byte = 0;
  if (send(kAwaitedFile, &byte, 1, MSG_NOSIGNAL) == 1) _exit(kCompileDone);
}

}  // namespace tartan::api
