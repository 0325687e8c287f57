// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/compiler.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/passes.h"
#include "tile/compiler/verify_list.h"
#include "tile/ir/verify_stored.h"

namespace tartan::compiler {
namespace {

absl::Status RunPass(const Pass& pass, Compilation* compilation) {
  const auto start = std::chrono::steady_clock::now();
  TARTAN_RETURN_IF_ERROR(pass.run(compilation));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const CompileHooks& hooks = compilation->hooks;
  if (hooks.timing) hooks.timing(pass.name, elapsed.count());
  hooks.Dump(pass.name, [&] { return ToString(*compilation); });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelList> Compile(const ir::Program& program, const CompileOptions& options,
                                   const CompileHooks& hooks) {
  TARTAN_RETURN_IF_ERROR(CheckOptional(options.disabled_passes));
  hooks.Dump("program", [&] { return ir::ToString(program); });
  Compilation compilation{options, hooks, program};
  for (const Pass& pass : Passes()) {
    if (options.Runs(pass.name)) TARTAN_RETURN_IF_ERROR(RunPass(pass, &compilation));
    if (pass.name == hooks.stop_after) break;
  }
  TARTAN_RETURN_IF_ERROR(VerifyList(compilation.list));
  return std::move(compilation.list);
}

}  // namespace tartan::compiler
