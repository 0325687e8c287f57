// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/launch_time.h"

#include <algorithm>
#include <variant>

#include "tile/base/sequence_limits.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

// As compiler/launches/mark_sequences.h decides.
bool IsForSequence(const PlannedKernel& kernel) {
  if (std::holds_alternative<RowStreamPlan>(kernel.plan)) return true;
  const auto* groups = std::get_if<GpuPlan>(&kernel.plan);
  return groups != nullptr &&
         FitsSequence(groups->threads(), static_cast<int64_t>(groups->cost.local_bytes), false) &&
         IsShortForSequence(kernel.predicted_us, false);
}

}  // namespace

double LaunchMicroseconds(const PlannedKernel& kernel, const HardwareSettings& settings) {
  // Those for a matrix unit know what a launch is there.
  if (std::holds_alternative<MatrixPlan>(kernel.plan)) return kernel.predicted_us;
  // Those of a run follow each other without one.
  if (std::holds_alternative<PersistentPlan>(kernel.plan)) return kernel.predicted_us;
  const Machine machine(settings);
  const double us = std::max(kernel.predicted_us, machine.launch_us);
  return IsForSequence(kernel) ? us - machine.launch_us + machine.sequence_launch_us : us;
}

}  // namespace tartan::plan
