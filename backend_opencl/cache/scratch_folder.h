// SPDX-License-Identifier: Apache-2.0
// A folder for files that need not outlast the process, in the first of several places that can
// hold it. A process holds a lock in its folder: the folder of one that was killed is not locked,
// and is deleted by the next process that uses the place.
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
  bool may_be_made = false;  // where it is missing
};

class ScratchFolder {
 public:
  // The places are tried in order. One that can be written, that no other user can exchange
  // (trusted_file.h), from which code may be mapped and that has `room_bytes` free is taken; where
  // none has as much, the one with the most. PermissionDenied with each place's reason where none
  // can be written.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Make(absl::Span<const ScratchPlace> places,
                                                             int64_t room_bytes);
  ScratchFolder(const ScratchFolder&) = delete;
  // Deletes the folder, unless this is a fork of the process that made it.
  ~ScratchFolder();

  const std::string& path() const { return path_; }
  // False in a fork of the process that made it.
  bool IsOfThisProcess() const;

 private:
  ScratchFolder(std::string path, std::unique_ptr<FileLock> lock);
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> MakeIn(const std::string& directory);

  const std::string path_;
  const std::unique_ptr<FileLock> lock_;
  const int64_t process_;
};

// Bytes that a process without privileges may still write there; -1 where that cannot be told.
int64_t FreeBytes(const std::string& directory);

// Deletes the folders that processes which have ended left in `directory`.
void RemoveAbandonedFolders(const std::string& directory);

}  // namespace tartan::opencl
