// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "absl/strings/string_view.h"

namespace tartan {

// The value of an environment variable; empty if it is not set. Valid until the variable changes.
inline absl::string_view EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? absl::string_view() : value;
}

}  // namespace tartan
