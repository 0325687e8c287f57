// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/scratch_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/trusted_file.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "tartan-scratch-";
constexpr char kLockFile[] = "/lock";
// A folder without a lock file belongs to a process that is about to create one or was killed
// before it did; after this time the latter is assumed.
constexpr std::chrono::hours kAbandonedAfter(1);
// Bytes written to test the folder, because free space does not reflect quotas.
constexpr size_t kTrialBytes = 64 << 10;
// Attempts to create a folder, because other processes may delete a new folder as abandoned.
constexpr int kAttempts = 8;

absl::Status Refusal(const std::string& directory, absl::string_view reason) {
  return absl::PermissionDeniedError(absl::StrCat(directory, ": ", reason));
}

absl::Status Refusal(const std::string& directory, int error) {
  return Refusal(directory, std::strerror(error));
}

// Checks every requirement of a place except its free space, and returns its resolved path.
absl::StatusOr<std::string> Examine(const ScratchPlace& place) {
  if (place.may_be_made && !MakePrivateDirectories(place.directory)) {
    return Refusal(place.directory, errno);
  }
  struct stat info;
  if (stat(place.directory.c_str(), &info) != 0) return Refusal(place.directory, errno);
  if (!S_ISDIR(info.st_mode)) return Refusal(place.directory, ENOTDIR);
  struct statvfs system;
  if (statvfs(place.directory.c_str(), &system) != 0) return Refusal(place.directory, errno);
  if ((system.f_flag & ST_NOEXEC) != 0) return Refusal(place.directory, "mounted with noexec");
  return CheckPathTrusted(place.directory);
}

bool IsOurs(const fs::path& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

void RemoveIfAbandoned(const fs::path& folder) {
  std::error_code ignored;
  const fs::path lock_file = folder.string() + kLockFile;
  if (fs::exists(fs::symlink_status(lock_file, ignored))) {
    const FileLock lock(lock_file.string(), FileLock::Others::kGiveWayTo);
    // An entry that cannot be opened as a file (for example a folder) is not a lock held by a
    // process.
    if (!lock.held() && fs::is_regular_file(fs::symlink_status(lock_file, ignored))) return;
    fs::remove_all(folder, ignored);
    return;
  }
  const auto changed = fs::last_write_time(folder, ignored);
  if (changed < fs::file_time_type::clock::now() - kAbandonedAfter) fs::remove_all(folder, ignored);
}

}  // namespace

int64_t FreeBytes(const std::string& directory) {
  struct statvfs system;
  if (statvfs(directory.c_str(), &system) != 0) return -1;
  return static_cast<int64_t>(system.f_bavail) * static_cast<int64_t>(system.f_frsize);
}

void RemoveAbandonedFolders(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator it(directory, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (absl::StartsWith(name, kPrefix) && IsOurs(it->path())) RemoveIfAbandoned(it->path());
  }
}

ScratchFolder::ScratchFolder(std::string path, std::unique_ptr<FileLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)), process_(getpid()) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (IsOfThisProcess()) fs::remove_all(path_, ignored);
}

bool ScratchFolder::IsOfThisProcess() const { return getpid() == process_; }

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::MakeIn(const std::string& directory) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = absl::StrCat(directory, "/", kPrefix, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return Refusal(directory, errno);
    errno = 0;
    auto lock = std::make_unique<FileLock>(path + kLockFile, FileLock::Others::kGiveWayTo);
    const int lock_error = errno;
    const bool held = lock->held();
    std::unique_ptr<ScratchFolder> folder(new ScratchFolder(path, std::move(lock)));
    if (!held) {
      if (lock_error == ENOENT || lock_error == EWOULDBLOCK || lock_error == 0) continue;
      return Refusal(directory, lock_error);
    }
    const std::string trial = path + "/trial";
    if (!WriteFileByRename(trial, trial, std::string(kTrialBytes, 'x'))) {
      return Refusal(directory, errno);
    }
    unlink(trial.c_str());
    return folder;
  }
  return Refusal(directory, "each new folder was deleted immediately");
}

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Make(
    absl::Span<const ScratchPlace> places, int64_t room_bytes) {
  std::string reasons;
  std::unique_ptr<ScratchFolder> best;
  int64_t most = -1;
  for (const ScratchPlace& place : places) {
    const absl::StatusOr<std::string> path = Examine(place);
    absl::Status status = path.status();
    const int64_t free = status.ok() ? FreeBytes(*path) : 0;
    if (status.ok() && free > most) {
      absl::StatusOr<std::unique_ptr<ScratchFolder>> folder = MakeIn(*path);
      status = folder.status();
      if (folder.ok()) {
        RemoveAbandonedFolders(*path);
        best = *std::move(folder);
        most = free;
      }
    }
    if (most >= room_bytes) break;
    if (!status.ok()) absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", status.message());
  }
  if (best != nullptr) return best;
  return absl::PermissionDeniedError(reasons);
}

}  // namespace tartan::opencl
