// SPDX-License-Identifier: Apache-2.0
// Zero-copy outputs: large outputs in host memory are returned where kernels have written them.
// While a caller holds them, other executions of the frame write to other memory. Internal to this
// folder.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/frame.h"

namespace tartan::evaluator {

// Ensures that no caller holds the memory to which the frame's next execution writes.
absl::Status FreeOutputs(const CompiledProgram& program, Frame& frame);

// The output of the execution in the frame's queue; its data is valid once the queue is finished.
// Nothing if the output must be copied.
std::optional<HostTensor> LendOutput(const CompiledProgram& program, Frame& frame, size_t output);

}  // namespace tartan::evaluator
