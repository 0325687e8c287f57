// SPDX-License-Identifier: Apache-2.0
// Why an OpenCL driver fails where the program given to it is right: memory or disk ran out. PoCL
// is then seen to return any error, to throw std::bad_alloc with its locks held, to raise SIGABRT
// or SIGSEGV, and to call exit(1).
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

enum class Shortage : uint8_t {
  kNone,
  kMemory,
  kDisk,
  kFileSize,  // limited by ulimit -f
  kFiles,     // that are open at once, limited by ulimit -n
};

// How the driver failed.
enum class Failure : uint8_t {
  kError,  // it returned an error
  kCrash,  // it ended the process, having freed a part of what it had
};

// What is short now. May be called in a signal handler.
Shortage FindShortage(Failure failure);
// Whether no more than `bytes` can be had in one piece.
bool IsMemoryShort(int64_t bytes);
// "too little memory is left": a constant text, also for signal handlers. Empty for kNone.
const char* Describe(Shortage shortage);
// `failure` with the shortage as its reason, as ResourceExhausted for memory, else as Aborted;
// `failure` as it is where nothing is short.
absl::Status ExplainByShortage(absl::Status failure);

// Whether something failed for a shortage, not for what it was given.
inline bool IsShortage(const absl::Status& failure) {
  return absl::IsResourceExhausted(failure) || absl::IsAborted(failure);
}

// How many files a driver opens at once as it compiles, at most.
inline constexpr int kDriverFiles = 12;

// The folder that the driver writes to, whose disk may be full. One at a time; once it is no longer
// watched, FindShortage knows how it was at the end.
void WatchFolder(const std::string& folder);
void UnwatchFolder();

// Drivers put their own signal handlers in the place of others' while they are loaded (LLVM does):
// `function` is called whenever that may have happened. One at a time.
void SetAfterLoading(void (*function)());
void CallAfterLoading();

// A driver that threw holds locks for ever: it is lost. No call may reach it any more, and what it
// gave out is not given back.
bool IsDriverLost();
void NoteDriverLost();

// Calls `call`, which calls the driver. Returns `lost` where the driver is or gets lost.
template <class Call, class Result>
Result CallDriver(const Call& call, Result lost) {
  if (IsDriverLost()) return lost;
  try {
    return call();
  } catch (const std::exception&) {
    NoteDriverLost();
    return lost;
  }
}

}  // namespace tartan::opencl
