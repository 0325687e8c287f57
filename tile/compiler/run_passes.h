// SPDX-License-Identifier: Apache-2.0
// Runs passes one after the other.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/compiler/passes.h"

namespace tartan::compiler {

// Those that the options do not leave out, in order, up to hooks.stop_after; each is timed, dumped
// and, with hooks.verify_passes, what it leaves is verified: Internal, naming the pass.
absl::Status RunPasses(absl::Span<const Pass> passes, Compilation* compilation);

}  // namespace tartan::compiler
