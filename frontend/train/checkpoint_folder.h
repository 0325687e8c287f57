// SPDX-License-Identifier: Apache-2.0
// The folder of a run's checkpoints; only one process at a time writes to it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/train/checkpoint.h"

namespace tartan::train {

class CheckpointFolder {
 public:
  // Creates the folder if necessary and removes incomplete files of a killed process.
  // FailedPrecondition if another process uses it, Unavailable if it cannot be created.
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>> Open(const std::string& path);
  // Only to read files, while another process may write.
  static std::unique_ptr<CheckpointFolder> OpenToRead(const std::string& path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // Like WriteCheckpoint and ReadCheckpoint, for a file in the folder.
  absl::Status Write(const std::string& name, const Checkpoint& checkpoint) const;
  absl::StatusOr<Checkpoint> Read(const std::string& name) const;
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

 private:
  CheckpointFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor of a file that is locked while it is open; -1: none
};

}  // namespace tartan::train
