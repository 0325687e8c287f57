// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/compiler.h"

#include <utility>

#include "tile/base/status_macros.h"
#include "tile/compiler/describe/describe_fusion.h"
#include "tile/compiler/passes/run_passes.h"
#include "tile/compiler/verify_accesses.h"
#include "tile/compiler/verify_list.h"

namespace tartan::compiler {

absl::StatusOr<KernelList> Compile(const ir::Program& program, const CompileOptions& options,
                                   const CompileHooks& hooks) {
  TARTAN_RETURN_IF_ERROR(CheckOptional(options.disabled_passes));
  Compilation compilation{options, hooks, program};
  TARTAN_RETURN_IF_ERROR(RunPasses(Passes(), &compilation));
  if (compilation.judge.log() != nullptr) {
    compilation.list.decisions = compilation.judge.log()->decisions();
    hooks.Dump("fusion", [&] { return FusionText(FusionOf(compilation.list)); });
  }
  TARTAN_RETURN_IF_ERROR(VerifyList(compilation.list));
  if (hooks.verify_passes && hooks.stop_after.empty()) {
    const AccessLimits limits{CompileHooks::VerifiedSteps()};
    TARTAN_RETURN_IF_ERROR(VerifyWrites(compilation.list, limits));
    TARTAN_RETURN_IF_ERROR(VerifyBounds(compilation.list, limits));
  }
  return std::move(compilation.list);
}

}  // namespace tartan::compiler
