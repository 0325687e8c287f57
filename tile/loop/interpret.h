// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on host memory, work-item by work-item: the reference for generated code, and how
// tests run kernels without a device. Every access is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// `buffers` in the order of kernel.parameters; outputs are written in place. The work-items of a
// group run statement by statement together. InvalidArgument where the number of buffers differs;
// OutOfRange naming the buffer and index for an access outside it or less aligned than told;
// Internal where Verify refuses the kernel, and for a barrier that not all work-items of a group
// reach.
absl::Status Interpret(const Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers);

}  // namespace tartan::loop
