// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/mark_sequences.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "tile/base/match.h"
#include "tile/loop/traverse.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

// Beside a longer one, what a driver takes to start it is nothing.
constexpr double kLongUs = 400;

// Items wait for each other, or share memory.
bool HasGroups(const loop::StmtPtr& stmt) {
  if (std::holds_alternative<loop::Barrier>(stmt->node)) return true;
  if (const auto* array = std::get_if<loop::DeclareArray>(&stmt->node)) {
    return array->space == loop::Space::kLocal;
  }
  bool has_groups = false;
  loop::ForEachChild(*stmt, Overloaded{[](const loop::ExprPtr&) {},
                                       [&](const loop::StmtPtr& child) {
                                         has_groups = has_groups || HasGroups(child);
                                       }});
  return has_groups;
}

bool MayBeInSequence(const loop::Kernel& kernel) {
  const bool has_single_items =
      std::all_of(std::begin(kernel.local_size), std::end(kernel.local_size),
                  [](int64_t size) { return size == 1; });
  return has_single_items && kernel.body != nullptr && !HasGroups(kernel.body);
}

double MicrosecondsOf(const LaunchStep& launch, const plan::Machine& machine) {
  if (launch.predicted_us > 0) return launch.predicted_us;
  return machine.Microseconds(launch.bytes / plan::cpu::kMemoryBytesPerCycle);
}

}  // namespace

void MarkAllForSequences(const HardwareSettings& settings, KernelList* list) {
  if (!settings.runs_sequences) return;
  for (loop::Kernel& kernel : list->kernels) kernel.in_sequence = MayBeInSequence(kernel);
}

void MarkSequences(const HardwareSettings& settings, KernelList* list) {
  if (!settings.runs_sequences) return;
  const plan::Machine machine(settings);
  std::vector<bool> may_be;
  for (const loop::Kernel& kernel : list->kernels) may_be.push_back(MayBeInSequence(kernel));
  int before = -1;  // the kernel of the step before, where that may be in a sequence
  for (const Step& step : list->steps) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    const bool is_short =
        launch != nullptr && may_be[launch->kernel] && MicrosecondsOf(*launch, machine) < kLongUs;
    const int kernel = is_short ? launch->kernel : -1;
    if (before >= 0 && kernel >= 0) {
      list->kernels[before].in_sequence = true;
      list->kernels[kernel].in_sequence = true;
    }
    before = kernel;
  }
}

}  // namespace tartan::compiler
