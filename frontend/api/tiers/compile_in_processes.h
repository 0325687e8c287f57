// SPDX-License-Identifier: Apache-2.0
// Compiles a program's kernels in separate processes in idle time (background/idle_time.h); one
// after the other on machines with few processors.
#pragma once

#include "absl/status/status.h"
#include "frontend/api/background/background.h"
#include "frontend/api/device.h"
#include "proto/program.pb.h"

namespace tartan::api {

// Compiles kernels into the disk cache, where Device::Compile finds them. Does nothing without a
// compiler executable or a disk cache; the kernels are then compiled where they are needed. Returns
// Cancelled as soon as `should_continue` returns false, otherwise the first failure of a process.
absl::Status CompileInProcesses(const Device& device, const proto::Program& program,
                                const Background::ContinueCallback& should_continue);

// The same for a compilation that stops only if this thread's work is cancelled
// (tile/base/cancellation.h). Kernels compiled before are on disk.
absl::Status CompileSeparately(const Device& device, const proto::Program& program);

}  // namespace tartan::api
