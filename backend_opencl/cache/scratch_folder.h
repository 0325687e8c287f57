// SPDX-License-Identifier: Apache-2.0
// Creates a folder for temporary files of the process, in the first suitable location. The process
// holds a lock in the folder. The folder of a killed process is unlocked, and the next process that
// uses the location deletes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/cache/file_io.h"

namespace tartan::opencl {

struct ScratchPlace {
  std::string directory;
  bool may_be_made = false;  // create the directory if it is missing
};

class ScratchFolder {
 public:
  // Tries the places in order. A suitable place is writable, cannot be replaced by another user
  // (trusted_file.h), allows mapping of code, and has `room_bytes` free. If none has enough free
  // space, the place with the most is used. Returns PermissionDenied with the reason for each place
  // if none is writable.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(absl::Span<const ScratchPlace> places,
                                                             int64_t room_bytes);
  ScratchFolder(const ScratchFolder&) = delete;
  // Deletes the folder, unless this process is a fork of its creator.
  ~ScratchFolder();

  const std::string& path() const { return path_; }
  // Returns false in a fork of the process that created the folder.
  bool IsOfThisProcess() const;

 private:
  ScratchFolder(std::string path, std::unique_ptr<FileLock> lock);
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> MakeIn(const std::string& directory);

  const std::string path_;
  const std::unique_ptr<FileLock> lock_;
  const int64_t process_;
};

// Returns the bytes that an unprivileged process may still write in `directory`; -1 if unknown.
int64_t FreeBytes(const std::string& directory);

// Deletes folders in `directory` whose processes have ended.
void RemoveAbandonedFolders(const std::string& directory);

}  // namespace tartan::opencl
