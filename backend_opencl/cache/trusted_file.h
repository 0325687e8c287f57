// SPDX-License-Identifier: Apache-2.0
// Decides who may have written a file. Kernels in a cache are native code, and whoever can write
// them can do what this process can. README.md has the rules.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tartan::opencl {

enum class Sharing : uint8_t {
  kNone,    // only the user and root may write the file or folder
  kSticky,  // other users may add files to the folder, but rename and delete only their own
};

// Ok where no other user but root can write the file or folder that `info` describes. It then
// belongs to the user of this process or to root, and no group has the right to write it, but for
// the user's private group. FailedPrecondition names `path`, the user or the mode, and the remedy.
absl::Status CheckTrusted(const std::string& path, const struct stat& info, Sharing sharing);

// The same for a folder in which this process makes a private one, and for every folder above it.
// Returns the path without symbolic links. PermissionDenied where it cannot be looked at.
absl::StatusOr<std::string> CheckPathTrusted(const std::string& path);

}  // namespace tartan::opencl
