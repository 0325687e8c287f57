// SPDX-License-Identifier: Apache-2.0
// Reads text files that a user names: Tile functions, labels, lists.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tartan::api {

inline constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// Reads the whole text of a regular file, a pipe or a terminal. A named pipe without a writer is
// empty. Errors name the path:
// - NotFound, PermissionDenied;
// - InvalidArgument: an endless device, a file that is not text, more than `max_bytes`;
// - Unavailable: other system errors.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         int64_t max_bytes = kMaxTextBytes);

}  // namespace tartan::api
