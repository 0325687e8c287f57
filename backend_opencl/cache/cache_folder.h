// SPDX-License-Identifier: Apache-2.0
// Opens the folder of the disk cache after checking its owner and mode. Operations through the
// descriptor use the checked folder even if its path is replaced meanwhile.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Returns `directory`/kernels, or an empty string if `directory` is empty.
std::string KernelDirectory(absl::string_view directory);

class CacheFolder {
 public:
  enum class Missing : uint8_t { kStays, kIsMade };

  // Opens KernelDirectory(directory). Errors: NotFound if it is missing and not created;
  // FailedPrecondition with the remedy if another user may write it (trusted_file.h);
  // PermissionDenied or Internal for other system errors.
  static absl::StatusOr<CacheFolder> Open(absl::string_view directory, Missing missing);
  CacheFolder(CacheFolder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CacheFolder& operator=(CacheFolder&&) = delete;
  ~CacheFolder();

  int descriptor() const { return descriptor_; }

 private:
  explicit CacheFolder(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// Returns Ok if the cache in `directory` may be used or does not exist.
absl::Status CheckCacheFolder(absl::string_view directory);

// Returns PermissionDenied or Internal, depending on `error`, with the message "`what` `path`: the
// system's reason".
absl::Status CacheFileError(int error, absl::string_view what, absl::string_view path);

}  // namespace tartan::opencl
