// SPDX-License-Identifier: Apache-2.0
// Compiles kernels in a process of its own: a driver's compiler that crashes takes no run with it,
// and holds no lock that runs need.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/api/tiers/background.h"
#include "frontend/api/tiers/idle_time.h"

namespace tartan::api {

// The command of `tartan`. Its argument is a device's index; it reads a request from stdin as soon
// as the pipe at kAwaitedFile has ended.
inline constexpr absl::string_view kCompileCommand = "compile-kernels";
inline constexpr int kAwaitedFile = 3;
// The exit codes of that command that tell more than that it failed.
inline constexpr int kCompileDone = 0;
inline constexpr int kCompileRefused = 2;  // it does not know such requests, or has no such device

// The program that does it, a `tartan` of this version: $TARTAN_COMPILER, which `tartan` sets to
// itself; empty where there is none.
std::string CompilerProgram();

class CompilerProcess {
 public:
  // Starts `program`, which loads the compiler of a device (hal::DeviceInfo::index) while it waits
  // for a request; null where it cannot be started. It ends with the thread that starts it.
  // `is_idle`: it has the lowest priority that there is.
  static std::unique_ptr<CompilerProcess> Start(const std::string& program, int device,
                                                bool is_idle = false);
  // Ends the process where it is not done.
  ~CompilerProcess();

  // Has it compile what a request says into the disk cache; once. Unimplemented where it refuses;
  // Cancelled, with the process killed, as soon as `go_on` says so; Internal where it failed.
  absl::Status Compile(absl::string_view request, const Background::GoOn& go_on);

  // A file for signals to the process that can reach no other one; negative where there is none.
  int OpenSignals() const;

 private:
  CompilerProcess(pid_t process, int request, int waiting)
      : process_(process), request_(request), waiting_(waiting) {}
  void Kill();

  pid_t process_;      // -1: it has ended
  const int request_;  // a file; a pipe would raise SIGPIPE where the reader has died
  int waiting_;        // the process waits until this is closed
};

// Starts one for this request. Unimplemented where there is none to start, or no room for it.
absl::Status CompileInProcess(const std::string& program, int device, absl::string_view request,
                              const Background::GoOn& go_on);

// The same in idle time alone: the process is stopped in between. `go_on` must look whether `time`
// has come, as Background's does. Its priority is the lowest that there is (SCHED_IDLE); where that
// is not enough to end within `patience`, another process of the thread's priority does the rest.
absl::Status CompileInIdleTime(const std::string& program, int device, absl::string_view request,
                               const Background::GoOn& go_on, IdleTime& time,
                               std::chrono::milliseconds patience = std::chrono::seconds(10));

// What such a process does first, before it reads the request from stdin: Start's side of it.
// Returns when the request is there.
void AwaitRequest();

}  // namespace tartan::api
