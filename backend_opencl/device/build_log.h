// SPDX-License-Identifier: Apache-2.0
// The message of a failed build.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan::opencl {

// The driver's log, cut to a readable length, followed by the numbered lines of `source` that it
// speaks of (":12:" or "line 12") and their neighbours.
std::string ExplainBuildLog(absl::string_view log, absl::string_view source);

}  // namespace tartan::opencl
