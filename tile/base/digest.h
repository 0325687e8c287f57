// SPDX-License-Identifier: Apache-2.0
// A short fixed-length key for a long text.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan {

// XXH3-128 as 32 hexadecimal digits.
std::string Digest(absl::string_view text);

}  // namespace tartan
