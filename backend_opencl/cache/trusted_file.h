// SPDX-License-Identifier: Apache-2.0
// Checks who may have written a file. Cached kernels are native code, so anyone who can write them
// can execute code in this process. README.md has the rules.
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

// Returns Ok if only this process's user and root can write the file or folder that `info`
// describes. The owner must be the user or root. Groups must not have write permission, except the
// user's private group. Otherwise returns FailedPrecondition with `path`, the user or mode, and the
// remedy.
absl::Status CheckTrusted(const std::string& path, const struct stat& info, Sharing sharing);

// Checks a folder in which this process creates a private folder, and all its parents. Returns the
// path without symbolic links. Returns PermissionDenied if the path cannot be examined.
absl::StatusOr<std::string> CheckPathTrusted(const std::string& path);

}  // namespace tartan::opencl
