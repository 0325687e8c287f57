// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/file_io.h"
#include "backend_opencl/cache/trusted_file.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

constexpr char kName[] = "kernels";

// Returns a descriptor that can only be used as a folder (O_PATH).
absl::StatusOr<int> OpenTrusted(int folder, const char* name, const std::string& path,
                                Sharing sharing) {
  const int opened = openat(folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0 && errno == ENOENT) return absl::NotFoundError(absl::StrCat("no folder ", path));
  struct stat info;
  absl::Status status;
  if (opened < 0 || fstat(opened, &info) != 0) {
    status = CacheFileError(errno, "cannot read the cache directory", path);
  } else {
    status = CheckTrusted(path, info, sharing);
  }
  if (status.ok()) return opened;
  if (opened >= 0) close(opened);
  return status;
}

}  // namespace

std::string KernelDirectory(absl::string_view directory) {
  return directory.empty() ? "" : absl::StrCat(directory, "/", kName);
}

absl::StatusOr<CacheFolder> CacheFolder::Open(absl::string_view directory, Missing missing) {
  const std::string root(directory);
  const std::string path = KernelDirectory(directory);
  if (missing == Missing::kIsMade && !MakePrivateDirectories(root)) {
    return CacheFileError(errno, "cannot create", root);
  }
  // Other users cannot replace the kernel folder if its parent is sticky, such as /tmp.
  TARTAN_ASSIGN_OR_RETURN(const int outer,
                          OpenTrusted(AT_FDCWD, root.c_str(), root, Sharing::kSticky));
  const CacheFolder closes_outer(outer);
  if (missing == Missing::kIsMade && mkdirat(outer, kName, 0700) != 0 && errno != EEXIST) {
    return CacheFileError(errno, "cannot create", path);
  }
  TARTAN_ASSIGN_OR_RETURN(const int inner, OpenTrusted(outer, kName, path, Sharing::kNone));
  return CacheFolder(inner);
}

CacheFolder::~CacheFolder() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status CheckCacheFolder(absl::string_view directory) {
  if (directory.empty()) return absl::OkStatus();
  const absl::Status status = CacheFolder::Open(directory, CacheFolder::Missing::kStays).status();
  return absl::IsFailedPrecondition(status) ? status : absl::OkStatus();
}

absl::Status CacheFileError(int error, absl::string_view what, absl::string_view path) {
  const std::string message = absl::StrCat(what, " ", path, ": ", std::strerror(error));
  return error == EACCES || error == EPERM || error == EROFS ? absl::PermissionDeniedError(message)
                                                             : absl::InternalError(message);
}

}  // namespace tartan::opencl
