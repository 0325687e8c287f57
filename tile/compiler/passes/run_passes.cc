// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/passes/run_passes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tile/base/cancellation.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/passes/verify_compilation.h"

namespace tartan::compiler {
namespace {

// Returns the decisions about fusion from number `first` on, one per line.
std::string NewDecisions(Compilation* compilation, size_t first) {
  std::string text;
  const graph::FusionLog* log = compilation->judge.log();
  if (log == nullptr) return text;
  for (size_t d = first; d < log->decisions().size(); ++d) {
    absl::StrAppend(&text, graph::ToString(log->decisions()[d]), "\n");
  }
  return text;
}

absl::Status RunPass(const Pass& pass, Compilation* compilation) {
  const graph::FusionLog* log = compilation->judge.log();
  const size_t decisions = log == nullptr ? 0 : log->decisions().size();
  const auto start = Clock::now();
  TARTAN_RETURN_IF_ERROR(pass.run(compilation));
  const double elapsed_ms = MillisecondsSince(start);
  const CompileHooks& hooks = compilation->hooks;
  if (hooks.timing) hooks.timing(pass.name, elapsed_ms);
  hooks.Dump(pass.name, [&] {
    return absl::StrCat(NewDecisions(compilation, decisions), ToString(*compilation));
  });
  return hooks.Verify(pass.name, [&] { return VerifyCompilation(*compilation); });
}

}  // namespace

absl::Status RunPasses(absl::Span<const Pass> passes, Compilation* compilation) {
  const CompileHooks& hooks = compilation->hooks;
  hooks.Dump("program", [&] { return ir::ToString(compilation->program); });
  TARTAN_RETURN_IF_ERROR(hooks.Verify("program", [&] { return VerifyCompilation(*compilation); }));
  for (const Pass& pass : passes) {
    TARTAN_RETURN_IF_ERROR(CheckCancellation());
    if (compilation->options.Runs(pass.name)) {
      TARTAN_RETURN_IF_ERROR(RunPass(pass, compilation));
    }
    if (pass.name == hooks.stop_after) break;
  }
  return absl::OkStatus();
}

}  // namespace tartan::compiler
