// SPDX-License-Identifier: Apache-2.0
// Plans as data that outlives the process, and the form of a kernel that they are found by.
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

// What plans of a kernel depend on: its tables without names and comments, element types, which
// operands are constant. Of a kernel with merged indices (poly::MergeIndices).
std::string KernelForm(const poly::FlatContraction& merged, const std::vector<bool>& is_constant);

proto::StoredPlan ToProto(const PlannedKernel& planned);

// The kernel with its operands packed and the plan, if it is one for this kernel and device:
// nothing otherwise, whatever the message holds.
std::optional<PlannedKernel> FromProto(const proto::StoredPlan& stored,
                                       const poly::FlatContraction& merged,
                                       const HardwareSettings& settings);

}  // namespace tartan::plan
