// SPDX-License-Identifier: Apache-2.0
// Compiles a program's kernels in idle time (idle_time.h): in processes of their own; with
// few processors one after the other.
#pragma once

#include "absl/status/status.h"
#include "frontend/api/device.h"
#include "frontend/api/tiers/background.h"
#include "proto/program.pb.h"

namespace tartan::api {

// Into the disk cache, from which Device::Compile takes them. Does nothing where there is no
// program that compiles, or no disk cache: what is not there is compiled by who needs it. Cancelled
// as soon as `go_on` says so; otherwise the first failure of a process.
absl::Status CompileApart(const Device& device, const proto::Program& program,
                          const Background::GoOn& go_on);

}  // namespace tartan::api
