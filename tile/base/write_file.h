// SPDX-License-Identifier: Apache-2.0
// Atomic file writes: a file appears completely or not at all.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan {

// Writes the pieces to a temporary file beside `path`, syncs it to disk, and renames it. Until
// then, and after any failure or crash, the previous file is unchanged. Special files are written
// in place. Unavailable, naming the path and the system's reason.
absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces);
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Checks whether WriteFile can succeed, as far as can be known; to be called before long
// computations.
absl::Status CheckWritable(const std::string& path);

}  // namespace tartan
