// SPDX-License-Identifier: Apache-2.0
// The few file operations of the disk cache. False, with errno set, where one fails. With `folder`,
// the descriptor of an open folder, paths are relative to that folder.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Reads the whole of a regular file of at most `max_bytes`. EFBIG for what is larger or no regular
// file.
bool ReadWholeFile(const std::string& path, int64_t max_bytes, std::string* bytes);

// The same for a file in `folder` that is no symbolic link. `info` describes the file that was
// read.
bool ReadWholeFileIn(int folder, const std::string& name, int64_t max_bytes, std::string* bytes,
                     struct stat* info);

// Sets the modification time to now.
bool TouchFile(const std::string& path, int folder = AT_FDCWD);

// Writes a new file (mode 0600) whose name is `prefix` and six random characters, and renames it
// to `path`; leaves nothing behind where it fails.
bool WriteFileByRename(const std::string& prefix, const std::string& path, absl::string_view bytes,
                       int folder = AT_FDCWD);

// Makes `path` and the directories above it with mode 0700, as far as they are missing.
bool MakePrivateDirectories(const std::string& path);

// An exclusive lock on a file, made if missing, for as long as the object lives; it ends with the
// process as well.
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
