// SPDX-License-Identifier: Apache-2.0
// The folder of the disk cache's files, opened after its owner and mode were checked. What is done
// through the descriptor is done in the folder that was checked, whatever becomes of its path.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

// `directory`/kernels; empty where `directory` is.
std::string KernelDirectory(absl::string_view directory);

class CacheFolder {
 public:
  enum class Missing : uint8_t { kStays, kIsMade };

  // Opens KernelDirectory(directory). NotFound where it is missing and stays so.
  // FailedPrecondition, with the remedy, where another user may write it (trusted_file.h). Other
  // system errors are PermissionDenied or Internal.
  static absl::StatusOr<CacheFolder> Open(absl::string_view directory, Missing missing);
  CacheFolder(CacheFolder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CacheFolder& operator=(CacheFolder&&) = delete;
  ~CacheFolder();

  int descriptor() const { return descriptor_; }

 private:
  explicit CacheFolder(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// Ok where the cache in `directory` may be used, or is not there.
absl::Status CheckCacheFolder(absl::string_view directory);

// PermissionDenied or Internal, by `error`: "`what` `path`: the system's reason".
absl::Status CacheFileError(int error, absl::string_view what, absl::string_view path);

}  // namespace tartan::opencl
