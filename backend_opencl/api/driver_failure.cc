// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/api/driver_failure.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tile/base/process_limits.h"

namespace tartan::opencl {
namespace {

// Upper bound in bytes of one allocation by malloc arenas, thread stacks and LLVM. Empirical.
constexpr int64_t kPieceBytes = int64_t{64} << 20;
// Bytes that PoCL needs at most for one program. With less free memory, an assertion failure in
// PoCL or LLVM is attributed to an allocation failure that went unchecked. Empirical.
constexpr int64_t kProgramBytes = int64_t{256} << 20;
// Bytes of disk space for a program of a few kernels with its intermediate files. Empirical.
constexpr int64_t kDiskBytes = int64_t{1} << 20;

// Written before and after the driver is used; read in signal handlers.
char watched_folder[4096];
std::atomic<bool> is_watched{false};
std::atomic<bool> disk_was_short{false};
std::atomic<bool> driver_lost{false};
std::atomic<void (*)()> after_loading{nullptr};

// Filled before the driver is used, because a signal handler cannot format text.
char file_size_text[256];
char files_text[256];

void WriteLimitTexts() {
  std::snprintf(file_size_text, sizeof(file_size_text),
                "no file may be larger than %lld bytes (ulimit -f), but the compilation of kernels "
                "needs files of up to %lld bytes",
                static_cast<long long>(FileSizeLimit().value_or(INT64_MAX)),
                static_cast<long long>(kDiskBytes));
  std::snprintf(files_text, sizeof(files_text),
                "no more than %lld files may be open at once (ulimit -n), but an OpenCL driver "
                "needs %d more than are open now",
                static_cast<long long>(OpenFileLimit()), kDriverFiles);
}

bool CanWrite(const char* path) {
  static const char bytes[4096] = {};
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool written = true;
  for (int i = 0; i < 16 && written; ++i) {
    written = write(file, bytes, sizeof(bytes)) == static_cast<ssize_t>(sizeof(bytes));
  }
  written &= close(file) == 0;
  unlink(path);
  return written;
}

// Files of a small program are smaller than kDiskBytes.
bool IsFileSizeShort() { return FileSizeLimit().value_or(INT64_MAX) < kDiskBytes; }

bool IsDiskShort() {
  if (!is_watched) return disk_was_short;
  struct statvfs system;
  if (statvfs(watched_folder, &system) != 0) return false;
  if (static_cast<int64_t>(system.f_bavail * system.f_frsize) < kDiskBytes) return true;
  char trial[sizeof(watched_folder) + 8];
  std::strcpy(trial, watched_folder);
  std::strcat(trial, "/trial");
  return !CanWrite(trial);
}

}  // namespace

bool IsMemoryShort(int64_t bytes) {
  void* const trial =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) return true;
  munmap(trial, bytes);
  return false;
}

Shortage FindShortage(Failure failure) {
  const int64_t needed = failure == Failure::kCrash ? kProgramBytes : kPieceBytes;
  if (driver_lost || IsMemoryShort(needed)) return Shortage::kMemory;
  if (IsFileSizeShort()) return Shortage::kFileSize;
  if (FreeFileDescriptors(kDriverFiles) < kDriverFiles) return Shortage::kFiles;
  return IsDiskShort() ? Shortage::kDisk : Shortage::kNone;
}

const char* Describe(Shortage shortage) {
  switch (shortage) {
    case Shortage::kNone:
      return "";
    case Shortage::kMemory:
      return "too little memory is left for the OpenCL driver";
    case Shortage::kDisk:
      return "the disk has no space left for the compilation of kernels; set TMPDIR or "
             "TARTAN_CACHE_DIR to a folder on another disk";
    case Shortage::kFileSize:
      return file_size_text;
    case Shortage::kFiles:
      return files_text;
  }
  return "";
}

absl::Status ExplainByShortage(absl::Status failure) {
  if (failure.ok()) return failure;  // the check allocates memory and disk space
  const Shortage shortage = FindShortage(Failure::kError);
  const bool is_reported = absl::StartsWith(failure.message(), Describe(shortage));
  if (shortage == Shortage::kNone || is_reported) return failure;
  const std::string message = absl::StrCat(Describe(shortage), " (", failure.message(), ")");
  return shortage == Shortage::kMemory ? absl::ResourceExhaustedError(message)
                                       : absl::AbortedError(message);
}

void WatchFolder(const std::string& folder) {
  WriteLimitTexts();
  is_watched = false;
  if (folder.size() >= sizeof(watched_folder)) return;
  std::strcpy(watched_folder, folder.c_str());
  is_watched = true;
}

void UnwatchFolder() {
  disk_was_short = IsDiskShort();
  is_watched = false;
}

void SetAfterLoading(void (*function)()) {
  WriteLimitTexts();
  after_loading = function;
}

void CallAfterLoading() {
  if (void (*const function)() = after_loading; function != nullptr) function();
}

bool IsDriverLost() { return driver_lost; }

void NoteDriverLost() { driver_lost = true; }

}  // namespace tartan::opencl
