// SPDX-License-Identifier: Apache-2.0
#include "tile/base/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "tile/base/process_limits.h"

namespace tartan {
namespace {

constexpr int kAttempts = 100;

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", WriteErrorText(error)));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Returns 0 or an errno.
int WriteAll(int file, absl::string_view bytes) {
  // Some systems write at most 2 GiB at once.
  constexpr size_t kMaxAtOnce = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), std::min(bytes.size(), kMaxAtOnce));
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int WriteAt(const std::string& path, bool is_special, absl::Span<const absl::string_view> pieces) {
  // An existing file could be another user's link to a different place.
  const int made_how = is_special ? 0 : O_CREAT | O_EXCL;
  const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | made_how, 0666);
  if (file < 0) return errno;
  int error = 0;
  for (const absl::string_view piece : pieces) {
    if (error == 0) error = WriteAll(file, piece);
  }
  if (error == 0 && !is_special && fsync(file) != 0) error = errno;
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

// Makes the rename durable. Not every file system supports this.
void SyncFolder(const std::string& path) {
  const int folder = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  (void)fsync(folder);
  close(folder);
}

}  // namespace

absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces) {
  static std::atomic<int> count{0};
  struct stat found;
  const bool is_special = stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
  std::string written = path;
  int error = EEXIST;  // a killed process with the same id may have left its file
  for (int attempt = 0; attempt < kAttempts && error == EEXIST; ++attempt) {
    if (!is_special) written = absl::StrCat(path, ".", getpid(), ".", count++, ".partial");
    error = WriteAt(written, is_special, pieces);
  }
  if (error == 0 && !is_special && std::rename(written.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) {
    if (!is_special) SyncFolder(path);
    return absl::OkStatus();
  }
  if (!is_special && error != EEXIST) std::remove(written.c_str());
  return CannotWrite(path, error);
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  return WriteFile(path, absl::MakeConstSpan(&contents, 1));
}

absl::Status CheckWritable(const std::string& path) {
  struct stat found;
  const bool exists = stat(path.c_str(), &found) == 0;
  int error = 0;
  if (exists && S_ISDIR(found.st_mode)) error = EISDIR;
  if (exists && !S_ISREG(found.st_mode) && error == 0) {
    error = access(path.c_str(), W_OK) == 0 ? 0 : errno;
  } else if (error == 0) {
    error = access(FolderOf(path).c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  return error == 0 ? absl::OkStatus() : CannotWrite(path, error);
}

}  // namespace tartan
