// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the file format of one disk cache entry.
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

// Returns the name of the file that holds `key`: 32 hexadecimal digits and the suffix.
std::string CacheFileName(absl::string_view key);

// Converts an entry to the bytes of its file and back. Decoding returns no value if any byte was
// modified.
std::string EncodeCacheEntry(absl::string_view key, absl::string_view payload);
std::optional<CacheEntry> DecodeCacheEntry(absl::string_view bytes);

}  // namespace tartan::opencl
