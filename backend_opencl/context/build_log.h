// SPDX-License-Identifier: Apache-2.0
// Builds the error message of a failed kernel compilation.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Returns the driver's log, shortened to a readable length, and the numbered lines of `source` that
// it mentions (":12:" or "line 12"). One line of context is added on each side.
std::string ExplainBuildLog(absl::string_view log, absl::string_view source);

}  // namespace tartan::opencl
