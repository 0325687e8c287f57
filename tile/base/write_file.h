// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan {

// Writes the pieces one after the other to a file beside `path`, has the disk take them, and gives
// that file the name. What was there before stays until then, and after a failure, also of the
// machine. What is no regular file is written in place. Unavailable naming the path and the
// system's reason.
absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces);
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Whether WriteFile can succeed, as far as can be told: asked before long work.
absl::Status CheckWritable(const std::string& path);

}  // namespace tartan
