// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/launch_time.h"

#include <algorithm>
#include <variant>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

// Mirrors the decision of compiler/launches/mark_launch_batches.h.
bool IsForSequence(const PlannedKernel& kernel) {
  if (std::holds_alternative<RowStreamPlan>(kernel.plan)) return true;
  const auto* groups = std::get_if<GpuPlan>(&kernel.plan);
  return groups != nullptr &&
         FitsLaunchBatch(groups->threads(), static_cast<int64_t>(groups->cost.local_bytes),
                         false) &&
         IsShortForLaunchBatch(kernel.predicted_us, false);
}

}  // namespace

double LaunchMicroseconds(const PlannedKernel& kernel, const HardwareSettings& settings) {
  // The time of a tensor-core plan already includes the launch overhead of its case.
  if (std::holds_alternative<MatrixPlan>(kernel.plan)) return kernel.predicted_us;
  // Launches of a persistent plan follow each other without launch overhead.
  if (std::holds_alternative<PersistentPlan>(kernel.plan)) return kernel.predicted_us;
  const Machine machine(settings);
  const double us = std::max(kernel.predicted_us, machine.launch_us);
  return IsForSequence(kernel) ? us - machine.launch_us + machine.megakernel_launch_us : us;
}

}  // namespace tartan::plan
