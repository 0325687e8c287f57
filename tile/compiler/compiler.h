// SPDX-License-Identifier: Apache-2.0
// Entry point of the Tile compiler: from program to kernels. The passes are in
// compiler/passes/passes.cc.
#pragma once

#include "absl/status/statusor.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

absl::StatusOr<KernelList> Compile(const ir::Program& program, const CompileOptions& options,
                                   const CompileHooks& hooks = {});

}  // namespace tartan::compiler
