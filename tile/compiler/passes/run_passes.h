// SPDX-License-Identifier: Apache-2.0
// Runs a table of passes in order, with timing, dumps and verification.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/compiler/passes/passes.h"

namespace tartan::compiler {

// Runs the passes that the options do not disable, up to hooks.stop_after. Each pass is timed,
// dumped and, with hooks.verify_passes, its result verified; a failure is Internal and names the
// pass.
absl::Status RunPasses(absl::Span<const Pass> passes, Compilation* compilation);

}  // namespace tartan::compiler
