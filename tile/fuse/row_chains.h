// SPDX-License-Identifier: Apache-2.0
// Limits and plans of row chains (fused multi-stage row reductions such as softmax) on a device.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/fuse/judge.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/plan/rows/row_plan.h"

namespace tartan::fuse {

// RowPlan is for CPUs, RowGroupPlan for GPUs.
using RowChainPlan = std::variant<plan::RowPlan, plan::RowGroupPlan>;

struct PlannedChain {
  graph::RowChain chain;
  RowChainPlan plan;
};

// `holds_results`: values that a chain would compute several times are stored in memory instead.
graph::ChainOptions ChainLimits(const HardwareSettings& settings, bool holds_results);

// Returns nothing if some kernel of the chain is faster, or only possible, as a separate launch.
// `is_constant`: per value of the program, whether it is a load-time constant. `decision` receives
// the reason and predicted times.
std::optional<RowChainPlan> PlanChain(const graph::RowChain& chain,
                                      const std::vector<bool>& is_constant, Judge* judge,
                                      graph::FusionDecision* decision);

// Returns true if intermediate results of the chain stay in registers, except for single elements.
// A GPU recomputes values faster than it reads them from local memory.
// Always true for CPUs, and for chains with matmuls, which read local memory anyway.
bool HoldsInRegisters(const graph::RowChain& chain, const RowChainPlan& plan);

}  // namespace tartan::fuse
