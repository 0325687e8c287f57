// SPDX-License-Identifier: Apache-2.0
// File operations of the disk cache. Each function returns false and sets errno if it fails.
// `folder` is the descriptor of an open folder; paths are relative to it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Reads a regular file of at most `max_bytes`. Sets EFBIG for larger files and files that are not
// regular.
bool ReadWholeFile(const std::string& path, int64_t max_bytes, std::string* bytes);

// Reads a file in `folder` that is not a symbolic link. `info` describes the file that was read.
bool ReadWholeFileIn(int folder, const std::string& name, int64_t max_bytes, std::string* bytes,
                     struct stat* info);

// Sets the modification time to the current time.
bool TouchFile(const std::string& path, int folder = AT_FDCWD);

// Writes a new file (mode 0600), named `prefix` plus six random characters, and renames it to
// `path`. Removes the file if this fails.
bool WriteFileByRename(const std::string& prefix, const std::string& path, absl::string_view bytes,
                       int folder = AT_FDCWD);

// Creates `path` and its missing parents with mode 0700.
bool MakePrivateDirectories(const std::string& path);

// An exclusive lock on a file, which is created if missing. The lock is released by the destructor
// and when the process ends.
class FileLock {
 public:
  enum class Others : uint8_t { kWaitFor, kGiveWayTo };

  explicit FileLock(const std::string& path, Others others = Others::kWaitFor,
                    int folder = AT_FDCWD);
  FileLock(const FileLock&) = delete;
  ~FileLock();
  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace tartan::opencl
