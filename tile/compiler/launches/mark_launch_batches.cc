// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/mark_launch_batches.h"

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "tile/base/launch_batch_limits.h"
#include "tile/compiler/launches/work_groups.h"
#include "tile/loop/launch_batches.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

// Microseconds on one core, empirical. The launch overhead of a longer kernel is negligible, and
// several cores finish it sooner, although their threads take longer to wake up.
constexpr double kLongUs = 2000;

bool CanBeInLaunchBatch(const loop::Kernel& kernel, const WorkGroups& groups,
                        const plan::Machine& machine) {
  if (kernel.body == nullptr) return false;
  const int64_t items = ItemCount(kernel);
  if (machine.is_cpu) return items == 1 && !groups.wait && groups.local_bytes == 0;
  const bool are_warps = items < kBatchWarp || items % kBatchWarp == 0;
  return FitsLaunchBatch(items, groups.local_bytes, groups.fills_compute_unit) &&
         (!groups.wait || are_warps);
}

double Microseconds(const LaunchStep& launch, const plan::Machine& machine) {
  if (launch.predicted_us > 0) return launch.predicted_us;
  return machine.is_cpu ? machine.Microseconds(launch.bytes / plan::cpu::kMemoryBytesPerCycle)
                        : launch.bytes / machine.memory_bytes_per_us;
}

bool IsShort(const LaunchStep& launch, const WorkGroups& groups, const plan::Machine& machine) {
  const double microseconds = Microseconds(launch, machine);
  if (!machine.is_cpu) return IsShortForLaunchBatch(microseconds, groups.fills_compute_unit);
  return microseconds < kLongUs * static_cast<double>(std::max<int64_t>(machine.units, 1));
}

// A GPU executes such a program no faster in a megakernel: the driver enqueues launches while
// earlier ones run, a grid barrier takes as long as the pause between two launches, and persistent
// work-groups hide less latency than full compute units. Empirical, H200: programs with a mean
// launch of 5.7 us and less gained 4 to 17 % from a megakernel. Those with 6.5 us and more lost 6
// to 40 %. A launch takes 4.0 to 4.6 us there. Only a megakernel keeps persistent values.
constexpr double kDeviceBoundLaunches = 1.35;
// Maximum number of kernels in a megakernel: one process compiles them all, in 0.3 to 0.5 s each.
constexpr int kMaxMegakernelKernels = 96;
// Shorter programs end before the driver is ahead of the device.
constexpr int kMinDeviceBoundLaunches = 16;

bool IsDeviceBound(const KernelList& list, const plan::Machine& machine) {
  if (machine.is_cpu) return false;
  double microseconds = 0;
  int launches = 0;
  for (const Step& step : list.steps) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch == nullptr) continue;
    if (!loop::PersistentParameters(list.kernels[launch->kernel]).empty()) return false;
    microseconds += Microseconds(*launch, machine);
    ++launches;
  }
  return launches >= kMinDeviceBoundLaunches &&
         microseconds > kDeviceBoundLaunches * machine.launch_us * launches;
}

// Programs that are run repeatedly return values that they read (evaluator/repetition_form.h), so
// the first launch follows the last one.
bool MayBeRepeated(const KernelList& list) {
  return std::any_of(list.outputs.begin(), list.outputs.end(),
                     [&](int output) { return list.buffers[output].kind == BufferKind::kInput; });
}

}  // namespace

void MarkAllForLaunchBatches(const HardwareSettings& settings, KernelList* list) {
  const plan::Machine machine(settings);
  if (!settings.batches_launches || !machine.is_cpu) return;
  for (loop::Kernel& kernel : list->kernels) {
    kernel.in_launch_batch = CanBeInLaunchBatch(kernel, WorkGroupsOf(kernel), machine);
  }
}

void MarkLaunchBatches(const HardwareSettings& settings, KernelList* list) {
  if (!settings.batches_launches) return;
  const plan::Machine machine(settings);
  if (IsDeviceBound(*list, machine)) return;
  std::vector<WorkGroups> groups;
  std::vector<bool> may_be;
  for (const loop::Kernel& kernel : list->kernels) {
    groups.push_back(WorkGroupsOf(kernel));
    may_be.push_back(CanBeInLaunchBatch(kernel, groups.back(), machine));
  }
  int first = -1;
  int before = -1;  // kernel of the previous step, or -1 if it cannot be in a sequence
  for (const Step& step : list->steps) {
    // CPUs execute copies in launch batches.
    if (machine.is_cpu && std::holds_alternative<CopyStep>(step)) continue;
    const auto* launch = std::get_if<LaunchStep>(&step);
    const bool is_short = launch != nullptr && may_be[launch->kernel] && !launch->fills_registers &&
                          IsShort(*launch, groups[launch->kernel], machine);
    const int kernel = is_short ? launch->kernel : -1;
    if (before >= 0 && kernel >= 0) {
      list->kernels[before].in_launch_batch = true;
      list->kernels[kernel].in_launch_batch = true;
    }
    before = kernel;
    if (&step == &list->steps.front()) first = kernel;
  }
  if (first >= 0 && before >= 0 && MayBeRepeated(*list)) {
    list->kernels[before].in_launch_batch = true;
    list->kernels[first].in_launch_batch = true;
  }
  const auto is_marked = [](const loop::Kernel& kernel) { return kernel.in_launch_batch; };
  const auto marked = std::count_if(list->kernels.begin(), list->kernels.end(), is_marked);
  if (!machine.is_cpu && marked > kMaxMegakernelKernels) {
    for (loop::Kernel& kernel : list->kernels) kernel.in_launch_batch = false;
  }
  // The waiting thread starts the only launch of a program sooner than the driver's
  // threads wake up.
  if (machine.is_cpu && list->steps.size() == 1 && before >= 0) {
    list->kernels[before].in_launch_batch = true;
  }
}

}  // namespace tartan::compiler
