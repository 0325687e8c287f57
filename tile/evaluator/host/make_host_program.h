// SPDX-License-Identifier: Apache-2.0
// Makes the host's form of a program in text.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "proto/tile.pb.h"
#include "tile/compiler/compile_options.h"
#include "tile/evaluator/host/host_program.h"
#include "tile/lang/ast.h"

namespace tartan::evaluator {

// Returns the program of CompiledProgram::OnHost, whose contract also says when it is null.
absl::StatusOr<std::shared_ptr<const HostProgram>> MakeHostProgram(
    const proto::Program& program, const compiler::CompileOptions& options, double most_ms,
    int64_t times, const lang::Function* tree);

}  // namespace tartan::evaluator
