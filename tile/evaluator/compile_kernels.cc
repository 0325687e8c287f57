// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/compile_kernels.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

// Numbers that kernels rely on are constants: zeros do no harm as indices, rubbish might.
bool HoldsConstants(BufferKind kind) {
  return kind == BufferKind::kConstant || kind == BufferKind::kPersistent;
}

absl::Status RunOnce(const CompiledProgram& program, const compiler::LaunchStep& launch,
                     hal::Queue& queue) {
  const compiler::KernelList& list = program.list();
  Buffers buffers(list.buffers.size());
  // With sizes of zero there is nothing to compute.
  const bool is_sized = !launch.sizes.empty();
  for (int buffer : launch.buffers) {
    if (buffers[buffer] != nullptr) continue;
    const int64_t bytes = std::max<int64_t>(list.buffers[buffer].bytes, 1);
    TARTAN_ASSIGN_OR_RETURN(buffers[buffer], program.device()->Allocate(bytes));
    if (is_sized || !HoldsConstants(list.buffers[buffer].kind)) continue;
    const uint8_t zero = 0;
    TARTAN_RETURN_IF_ERROR(queue.Fill(buffers[buffer], 0, bytes, {&zero, 1}));
  }
  compiler::LaunchStep once = launch;
  std::fill(once.sizes.begin(), once.sizes.end(), 0);
  if (is_sized) std::copy_n(list.kernels[launch.kernel].local_size, 3, once.global_size.begin());
  const compiler::Step step = std::move(once);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Command> commands,
                          RecordSteps(program, {&step, 1}, buffers));
  TARTAN_RETURN_IF_ERROR(RunCommands(program, commands, buffers, queue, nullptr));
  return queue.Finish();
}

}  // namespace

absl::Status CompileKernels(const CompiledProgram& program, const std::function<bool()>& go_on) {
  const compiler::KernelList& list = program.list();
  std::vector<bool> is_compiled(list.kernels.size(), false);
  std::unique_ptr<hal::Queue> queue;
  for (const std::vector<compiler::Step>* steps : {&list.setup, &list.steps}) {
    for (const compiler::Step& step : *steps) {
      const auto* launch = std::get_if<compiler::LaunchStep>(&step);
      if (launch == nullptr || is_compiled[launch->kernel]) continue;
      if (program.kernels()[launch->kernel].executable != program.executable()) continue;
      if (go_on != nullptr && !go_on()) return absl::CancelledError("not all kernels are compiled");
      if (queue == nullptr) {
        TARTAN_ASSIGN_OR_RETURN(queue, program.device()->CreateQueue(/*profiling=*/false));
      }
      TARTAN_RETURN_IF_ERROR(RunOnce(program, *launch, *queue));
      is_compiled[launch->kernel] = true;
    }
  }
  program.SetHasAllKernels();
  return absl::OkStatus();
}

}  // namespace tartan::evaluator
