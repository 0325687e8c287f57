// SPDX-License-Identifier: Apache-2.0
// The passes of the compiler, in the order in which they run.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/compiler/compilation.h"

namespace tartan::compiler {

struct Pass {
  absl::string_view name;
  absl::Status (*run)(Compilation* compilation);
  // May be left out by CompileOptions::disabled_passes: what is computed is the same.
  bool is_optional = false;
  absl::string_view why;  // one line
};

absl::Span<const Pass> Passes();

// InvalidArgument, with the names that there are, unless each of `names` is one of an optional
// pass.
absl::Status CheckOptional(const std::set<std::string>& names);

// What a pass made, for dumps: the program, or the kernels once there are any.
std::string ToString(const Compilation& compilation);

}  // namespace tartan::compiler
