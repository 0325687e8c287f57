// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/crash_reporter.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/cache/pocl_folder.h"

namespace tartan::cli {
namespace {

using opencl::Shortage;

constexpr int kSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

std::atomic<bool> main_has_ended{false};

// Only the main thread uses it.
std::vector<std::shared_ptr<const void>>& KeptObjects() {
  static std::vector<std::shared_ptr<const void>>& objects =
      *new std::vector<std::shared_ptr<const void>>();
  return objects;
}

// Async-signal-safe.
[[noreturn]] void End(ExitCode code, const char* reason) {
  char line[512] = "tartan: ";
  std::strncat(line, reason, sizeof(line) - std::strlen(line) - 2);
  std::strcat(line, "\n");
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line, std::strlen(line));
  _exit(static_cast<int>(code));
}

[[noreturn]] void EndBy(Shortage shortage) {
  End(shortage == Shortage::kMemory ? ExitCode::kMemory : ExitCode::kFile, Describe(shortage));
}

void OnCrash(int number) {
  const Shortage shortage = opencl::FindShortage(opencl::Failure::kCrash);
  if (shortage != Shortage::kNone) EndBy(shortage);
  raise(number);  // the default action ends the process
}

// Handles an uncaught exception; PoCL compiles in its own threads.
void OnTerminate() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      EndBy(Shortage::kMemory);
    } catch (...) {
    }
  }
  std::abort();
}

// Handles exit() by the driver: LLVM calls exit(1) if it cannot write.
void OnExit() {
  if (main_has_ended) return;
  const Shortage shortage = opencl::FindShortage(opencl::Failure::kCrash);
  if (shortage != Shortage::kNone) EndBy(shortage);
  End(ExitCode::kKernel, "the OpenCL driver has ended the process");
}

void CatchCrashes() {
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // the write that exceeds the limit fails and is reported
}

}  // namespace

void InstallCrashReporter() {
  // A separate signal stack, because out of memory may mean that the stack cannot grow.
  static char stack[64 << 10];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  CatchCrashes();
  opencl::SetAfterLoading(CatchCrashes);
  std::set_terminate(OnTerminate);
  std::atexit(OnExit);
}

int EndProgram(ExitCode code) {
  main_has_ended = true;
  if (!opencl::IsDriverLost() && KeptObjects().empty()) return static_cast<int>(code);
  std::fflush(stdout);
  if (!opencl::IsDriverLost()) {
    opencl::PoclFolder::OfProcess().Remove();
    _exit(static_cast<int>(code));
  }
  // Out of memory decides the exit code, even if the command reported the error as one of many and
  // continued.
  _exit(static_cast<int>(ExitCode::kMemory));
}

void KeepUntilEnd(std::shared_ptr<const void> object) {
  KeptObjects().push_back(std::move(object));
}

}  // namespace tartan::cli
