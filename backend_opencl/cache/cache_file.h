// SPDX-License-Identifier: Apache-2.0
// The file format of one entry of the disk cache.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

inline constexpr absl::string_view kCacheFileSuffix = ".kernels";
inline constexpr absl::string_view kTemporaryPrefix = "writing-";

struct CacheEntry {
  std::string key;
  std::string payload;
};

// The name of the file that holds `key`: 32 hexadecimal digits and the suffix.
std::string CacheFileName(absl::string_view key);

// The bytes of a file, and back. Nothing if any byte is not as it was written.
std::string EncodeCacheEntry(absl::string_view key, absl::string_view payload);
std::optional<CacheEntry> DecodeCacheEntry(absl::string_view bytes);

}  // namespace tartan::opencl
