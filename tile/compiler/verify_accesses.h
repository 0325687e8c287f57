// SPDX-License-Identifier: Apache-2.0
// Checks that a kernel list reads only written elements and stays within its buffers. The checks
// trace the index arithmetic of each launch (loop/trace_accesses.h), independently of the passes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

struct AccessLimits {
  // Maximum statements to execute per launch. A longer launch is assumed to write all its outputs.
  int64_t max_steps = INT64_MAX;
};

// Checks that each element of every output is written, and that each element a step certainly reads
// was written by an earlier step. Returns Internal, naming the buffer and its first missing
// element. Launches with data-dependent accesses are assumed to write everything they might write.
absl::Status VerifyWrites(const KernelList& list, const AccessLimits& limits = {});

// Returns Internal, naming kernel, buffer and index, if a launch certainly accesses memory outside
// a buffer. Traces only the work-groups at the edges of each launch's grid.
absl::Status VerifyBounds(const KernelList& list, const AccessLimits& limits = {});

}  // namespace tartan::compiler
