// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/compile_kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "tile/base/cancellation.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {
namespace {

absl::Status RunOnce(const CompiledProgram& program, const compiler::LaunchStep& launch,
                     hal::Queue& queue) {
  const compiler::KernelList& list = program.list();
  Buffers buffers(list.buffers.size());
  // Kernels with size arguments are launched with sizes of zero, and compute nothing.
  const bool is_sized = !launch.sizes.empty();
  for (int buffer : launch.buffers) {
    if (buffers[buffer] != nullptr) continue;
    const int64_t bytes = std::max<int64_t>(list.buffers[buffer].bytes, 1);
    TARTAN_ASSIGN_OR_RETURN(buffers[buffer], program.device()->Allocate(bytes));
    if (is_sized) continue;
    // A kernel may use an intermediate value or an input as indices. Zeros are valid indices;
    // uninitialized memory could lead out of bounds.
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

double WorkOf(const compiler::LaunchStep& launch) { return launch.flops + launch.bytes; }

// Some drivers compile a kernel again for grids of this size.
bool IsLarge(const std::array<int64_t, 3>& global_size) {
  return *std::max_element(global_size.begin(), global_size.end()) > 0xFFFF;
}

// The smallest launch of each kernel by work, and one more for kernels that also have large grids.
std::vector<const compiler::LaunchStep*> LaunchesToRun(const CompiledProgram& program) {
  const compiler::KernelList& list = program.list();
  std::vector<const compiler::LaunchStep*> launches;
  std::map<std::pair<int, bool>, size_t> places;
  for (const std::vector<compiler::Step>* steps : {&list.setup, &list.steps}) {
    for (const compiler::Step& step : *steps) {
      const auto* launch = std::get_if<compiler::LaunchStep>(&step);
      if (launch == nullptr) continue;
      // Other kernels have been compiled for other programs.
      const auto& built = program.executables();
      const auto& executable = program.kernels()[launch->kernel].executable;
      if (std::find(built.begin(), built.end(), executable) == built.end()) continue;
      std::array<int64_t, 3> size = launch->global_size;
      if (launch->sizes.empty())
        std::copy_n(list.kernels[launch->kernel].global_size, 3, size.begin());
      const auto [place, is_new] =
          places.emplace(std::pair(launch->kernel, IsLarge(size)), launches.size());
      if (is_new) {
        launches.push_back(launch);
      } else if (WorkOf(*launch) < WorkOf(*launches[place->second])) {
        launches[place->second] = launch;
      }
    }
  }
  return launches;
}

}  // namespace

absl::Status CompileKernels(const CompiledProgram& program,
                            const std::function<bool()>& should_continue) {
  std::unique_ptr<hal::Queue> queue;
  for (const compiler::LaunchStep* launch : LaunchesToRun(program)) {
    if (should_continue != nullptr && !should_continue())
      return absl::CancelledError("the compilation of kernels was stopped");
    TARTAN_RETURN_IF_ERROR(CheckCancellation());
    if (queue == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(queue, program.device()->CreateQueue(/*profiling=*/false));
    }
    TARTAN_RETURN_IF_ERROR(RunOnce(program, *launch, *queue));
  }
  program.SetHasAllKernels();
  return absl::OkStatus();
}

}  // namespace tartan::evaluator
