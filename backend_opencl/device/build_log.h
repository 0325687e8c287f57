// SPDX-License-Identifier: Apache-2.0
// Builds the error message of a failed kernel compilation.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Returns the driver's log, shortened to a readable length, followed by the numbered lines of
// `source` that the log mentions (":12:" or "line 12") with one line of context on each side.
std::string ExplainBuildLog(absl::string_view log, absl::string_view source);

}  // namespace tartan::opencl
