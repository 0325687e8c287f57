// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tartan::train {
namespace {

absl::Status Cannot(const std::string& path, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

void RemovePartialFiles(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename();
    if (absl::StrContains(name, ".ckpt.") && absl::EndsWith(name, ".partial"))
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointFolder::Open(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return Cannot(path, "cannot be created");
  const std::string name = absl::StrCat(path, "/lock");
  const int lock = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) return Cannot(name, "cannot be written");
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const bool is_taken = errno == EWOULDBLOCK;
    const absl::Status status = is_taken ? absl::FailedPreconditionError(absl::StrCat(
                                               path, ": another process trains in this folder"))
                                         : Cannot(name, "cannot be locked");
    close(lock);
    return status;
  }
  RemovePartialFiles(path);
  return std::unique_ptr<CheckpointFolder>(new CheckpointFolder(path, lock));
}

std::unique_ptr<CheckpointFolder> CheckpointFolder::OpenToRead(const std::string& path) {
  return std::unique_ptr<CheckpointFolder>(new CheckpointFolder(path, -1));
}

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0) close(lock_);
}

absl::Status CheckpointFolder::Write(const std::string& name, const Checkpoint& checkpoint) const {
  return WriteCheckpoint(PathOf(name), checkpoint);
}

absl::StatusOr<Checkpoint> CheckpointFolder::Read(const std::string& name) const {
  return ReadCheckpoint(PathOf(name));
}

}  // namespace tartan::train
