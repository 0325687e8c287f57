// SPDX-License-Identifier: Apache-2.0
// The table of compiler passes, in execution order.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/compiler/passes/compilation.h"

namespace tartan::compiler {

struct Pass {
  absl::string_view name;
  absl::Status (*run)(Compilation* compilation);
  // CompileOptions::disabled_passes may skip the pass; the results of the program stay the same.
  bool is_optional = false;
  absl::string_view why;  // one line, printed by --help
};

absl::Span<const Pass> Passes();

// Returns InvalidArgument, listing the optional passes, if one of `names` is not an optional pass.
absl::Status CheckOptional(const std::set<std::string>& names);

// Text of the compilation's state for dumps: the latest of program, partition, schedule and
// kernels.
std::string ToString(const Compilation& compilation);

}  // namespace tartan::compiler
