// SPDX-License-Identifier: Apache-2.0
// Explains failures of OpenCL drivers that are caused by exhausted memory or disk space. PoCL
// reacts to such a shortage with any error code, a thrown std::bad_alloc (with its locks held),
// SIGABRT, SIGSEGV or exit(1).
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
  kFileSize,  // largest file, limited by ulimit -f
  kFiles,     // number of open files, limited by ulimit -n
};

// The way in which a driver failed.
enum class Failure : uint8_t {
  kError,  // returned an error
  kCrash,  // ended the process after freeing part of its memory
};

// Returns the current shortage. Async-signal-safe.
Shortage FindShortage(Failure failure);
// True if `bytes` cannot be allocated in one block.
bool IsMemoryShort(int64_t bytes);
// Returns a constant text such as "too little memory is left"; usable in signal handlers. Empty for
// kNone.
const char* Describe(Shortage shortage);
// Adds the current shortage as the reason of `failure`: ResourceExhausted for memory, Aborted for
// other resources. Returns `failure` unchanged if nothing is short.
absl::Status ExplainByShortage(absl::Status failure);

// True if the operation failed because of a shortage and not because of its input.
inline bool IsShortage(const absl::Status& failure) {
  return absl::IsResourceExhausted(failure) || absl::IsAborted(failure);
}

// Maximum number of files that a driver has open at once while compiling. Empirical.
inline constexpr int kDriverFiles = 12;

// Names the folder that the driver writes to, so that FindShortage can check its disk. One folder
// at a time. UnwatchFolder records the disk's state, which FindShortage uses afterwards.
void WatchFolder(const std::string& folder);
void UnwatchFolder();

// Registers `function`, which is called after drivers were loaded. Drivers replace signal handlers
// while they are loaded (LLVM does). One function at a time.
void SetAfterLoading(void (*function)());
void CallAfterLoading();

// A driver that threw an exception never releases its locks. Such a driver is lost: no function of
// it may be called again, and its objects are not released.
bool IsDriverLost();
void NoteDriverLost();

// Invokes `call`, which uses the driver. Returns `lost` if the driver is lost or throws.
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
