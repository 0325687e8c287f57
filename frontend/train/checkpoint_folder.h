// SPDX-License-Identifier: Apache-2.0
// The folder of a run's checkpoints: one process writes there at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/train/checkpoint.h"

namespace tartan::train {

class CheckpointFolder {
 public:
  // Makes the folder where there is none, and takes away what a killed process left half written.
  // FailedPrecondition where another process has it, Unavailable where it cannot be made.
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>> Open(const std::string& path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // As WriteCheckpoint and ReadCheckpoint of a file in it.
  absl::Status Write(const std::string& name, const Checkpoint& checkpoint) const;
  absl::StatusOr<Checkpoint> Read(const std::string& name) const;
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

 private:
  CheckpointFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // a file that is locked as long as it is open
};

}  // namespace tartan::train
