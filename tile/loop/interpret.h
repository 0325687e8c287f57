// SPDX-License-Identifier: Apache-2.0
// Executes a kernel on host memory, work-item by work-item: the reference for generated code, and
// the way tests run kernels without a device. Every access is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// `buffers` are in the order of kernel.parameters; outputs are written in place. The work-items of
// a group execute statement by statement in lockstep. Errors:
// - InvalidArgument: the number of buffers differs.
// - OutOfRange: an access out of bounds or misaligned; the message names the buffer and the index.
// - Internal: Verify rejects the kernel, or not all work-items of a group reach a barrier.
absl::Status Interpret(const Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers);

}  // namespace tartan::loop
