// SPDX-License-Identifier: Apache-2.0
// Compiles kernels in a process of its own: a driver's compiler that crashes takes no run with it,
// and holds no lock that runs need.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/api/tiers/background.h"

namespace tartan::api {

// The command of `tartan` that reads one from stdin.
inline constexpr absl::string_view kCompileCommand = "compile-kernels";
// The exit codes of that command that tell more than that it failed.
inline constexpr int kCompileDone = 0;
inline constexpr int kCompileRefused = 2;  // it does not know such requests, or has no such device

// The program that does it, a `tartan` of this version: $TARTAN_COMPILER, which `tartan` sets to
// itself; empty where there is none.
std::string CompilerProgram();

// Has `program` compile what a request says into the disk cache. Unimplemented where it cannot be
// started or refuses; Cancelled, with the process killed, as soon as `go_on` says so; Internal
// where it failed.
absl::Status CompileInProcess(const std::string& program, const std::string& request,
                              const Background::GoOn& go_on);

}  // namespace tartan::api
