// SPDX-License-Identifier: Apache-2.0
// Large outputs that a caller gets where kernels have written them, without a copy, where that is
// memory of the host. As long as somebody has them, other runs of the frame write theirs to other
// memory. Internal to this folder.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/frame.h"

namespace tartan::evaluator {

// Sees to it that nobody has the memory to which the frame's next run writes.
absl::Status FreeOutputs(const CompiledProgram& program, Frame& frame);

// The output of the run that is in the frame's queue; there once the queue is finished. Nothing
// where it is to be copied.
std::optional<HostTensor> LendOutput(const CompiledProgram& program, Frame& frame, size_t output);

}  // namespace tartan::evaluator
