// SPDX-License-Identifier: Apache-2.0
// Chains of kernels over the same rows on a device: how long they may be, and how they are divided
// over its work-items.
#pragma once

#include <optional>
#include <variant>

#include "tile/base/hardware_settings.h"
#include "tile/graph/chain_groups.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/plan/rows/row_plan.h"

namespace tartan::compiler {

// For CPU devices and for GPUs.
using RowChainPlan = std::variant<plan::RowPlan, plan::RowGroupPlan>;

struct PlannedChain {
  graph::RowChain chain;
  RowChainPlan plan;
};

// `holds_results`: what a chain would compute several times is held.
graph::ChainOptions ChainLimits(const HardwareSettings& settings, bool holds_results);

// Nothing where some kernel of the chain is better off, or only possible, in a launch of its own.
std::optional<RowChainPlan> PlanChain(const graph::RowChain& chain,
                                      const HardwareSettings& settings);

// GPUs compute faster than they remember, but in registers: true where what the chain reads of
// itself is there, but for single elements. Always true on CPU devices, and of chains with
// products, which read local memory all the same.
bool HoldsInRegisters(const graph::RowChain& chain, const RowChainPlan& plan);

}  // namespace tartan::compiler
