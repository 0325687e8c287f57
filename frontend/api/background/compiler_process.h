// SPDX-License-Identifier: Apache-2.0
// Compiles kernels in a separate process: a crash of the driver's compiler ends no run, and its
// locks block none.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/api/background/background.h"
#include "frontend/api/background/idle_time.h"

namespace tartan::api {

// Command of `tartan` for a compiler process. Its argument is a device index. It reads a request
// from stdin as soon as the socket at file descriptor kAwaitedFile is closed for writing, and may
// write a byte into it when it has done its work.
inline constexpr absl::string_view kCompileCommand = "compile-kernels";
inline constexpr int kAwaitedFile = 3;
// Exit codes of that command with a specific meaning.
inline constexpr int kCompileDone = 0;
inline constexpr int kCompileRefused = 2;  // unknown kind of request or unknown device

// The executable of the compiler process, a `tartan` of this version: $TARTAN_COMPILER, which
// `tartan` sets to itself. Empty if there is none.
std::string CompilerProgram();

class CompilerProcess {
 public:
  // Starts `program`, which loads the compiler of a device (hal::DeviceInfo::index) while it waits
  // for a request. Returns null if it cannot be started. The process ends with the thread that
  // starts it. `is_idle` gives it the lowest priority.
  static std::unique_ptr<CompilerProcess> Start(const std::string& program, int device,
                                                bool is_idle = false);
  // Kills the process if it is still running, and does not wait for its end.
  ~CompilerProcess();

  // Sends a request, at most once; the process compiles it into the disk cache. Returns
  // Unimplemented if the process refuses, Internal if it fails, and Cancelled, after killing it, as
  // soon as `should_continue` returns false.
  absl::Status Compile(absl::string_view request,
                       const Background::ContinueCallback& should_continue);

  // A file for signals to the process that can reach no other one; negative where there is none.
  int OpenSignals() const;

 private:
  CompilerProcess(pid_t process, int request, int waiting)
      : process_(process), request_(request), waiting_(waiting) {}
  void Kill();
  // True once the process says that it has done its work. Waits for a moment otherwise.
  bool IsDone();

  pid_t process_;      // -1: the process has ended
  const int request_;  // a file, because a pipe would raise SIGPIPE if the reader died
  int waiting_;        // a socket: the process waits until this side writes no more
};

// Starts a process for this request. Unimplemented if there is no executable or no memory for it.
absl::Status CompileInProcess(const std::string& program, int device, absl::string_view request,
                              const Background::ContinueCallback& should_continue);

// The same in idle time only: the process is stopped in between. `should_continue` must check
// `time`, as Background's does. The process has the lowest priority (SCHED_IDLE). If it does not
// end within `patience`, a second process with the thread's own priority finishes the work.
absl::Status CompileInIdleTime(const std::string& program, int device, absl::string_view request,
                               const Background::ContinueCallback& should_continue, IdleTime& time,
                               std::chrono::milliseconds patience = std::chrono::seconds(10));

// The child's side of Start: call it first in the process. Returns when the request can be read
// from stdin.
void AwaitRequest();

// Ends this process at once, and lets the other one know that its request is answered: a GPU's
// driver takes long to release a context. Returns if there is no other process.
void EndAnswered();

}  // namespace tartan::api
