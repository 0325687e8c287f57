// SPDX-License-Identifier: Apache-2.0
// Checks by the launches' own index arithmetic (loop/trace_accesses.h), and not by trust in the
// passes, that a kernel list writes what it reads and stays within its buffers.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

struct AccessLimits {
  // Statements to execute for one launch. What takes more is assumed to write all of its outputs.
  int64_t max_steps = INT64_MAX;
};

// Internal, naming the buffer and its first element that is missing, unless each element of every
// output is written, and each element that a step surely reads was written by an earlier step.
// Launches whose accesses depend on values are assumed to write all that they might write.
absl::Status VerifyWrites(const KernelList& list, const AccessLimits& limits = {});

// Internal, naming kernel, buffer and index, if a launch surely loads or stores outside of a
// buffer. Looks at the work-groups on the edges of each launch's grid.
absl::Status VerifyBounds(const KernelList& list, const AccessLimits& limits = {});

}  // namespace tartan::compiler
