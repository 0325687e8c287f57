// SPDX-License-Identifier: Apache-2.0
// Serialization of plans, and the key by which a stored plan is found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::proto {
class StoredPlan;
}

namespace tartan::plan {

// Returns a key of everything that a kernel's plans depend on: its tables without names and
// comments, element types, and constant operands. Requires merged indices (poly::MergeIndices).
std::string KernelForm(const poly::FlatContraction& merged, const std::vector<bool>& is_constant);

proto::StoredPlan ToProto(const PlannedKernel& planned);

// Restores a plan and packs the kernel's operands for it. Empty if the message holds no valid plan
// for this kernel and device; any message is safe.
std::optional<PlannedKernel> FromProto(const proto::StoredPlan& stored,
                                       const poly::FlatContraction& merged,
                                       const HardwareSettings& settings);

}  // namespace tartan::plan
