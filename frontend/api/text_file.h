// SPDX-License-Identifier: Apache-2.0
// Files of text that a user names: functions in Tile, labels, lists.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tartan::api {

inline constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// The whole text of a regular file, a pipe or a terminal; devices that never end are refused, and
// so is more than `max_bytes`. A named pipe without a writer is empty. Errors name the path:
// NotFound, PermissionDenied, InvalidArgument for what holds no text or too much of it, Unavailable
// for others of the system.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         int64_t max_bytes = kMaxTextBytes);

}  // namespace tartan::api
