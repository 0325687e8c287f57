// SPDX-License-Identifier: Apache-2.0
// Decides about row chains (fused multi-stage row reductions such as softmax and attention) on a
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "tile/base/hardware_settings.h"
#include "tile/fuse/judge.h"
#include "tile/graph/fusion_log.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
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

// GPUs: plans the separate kernels that PlanChain compares with these chains, at once on several
// threads.
void PlanSeparateKernels(absl::Span<const graph::RowChain> chains,
                         const std::vector<bool>& is_constant, Judge* judge);

// GPUs: decides whether a row chain with matmuls, such as attention, is faster as one launch than
// as the chain `without` (may be null) plus separate launches (graph::ChainOptions). A fused launch
// that avoids an intermediate tensor of more than `max_intermediate_bytes` is chosen in any case.
graph::FusionDecision DecideAttention(const graph::RowChain& chain, const graph::RowChain* without,
                                      const std::vector<bool>& is_constant,
                                      int64_t max_intermediate_bytes, Judge* judge);

// Returns true if intermediate results of the chain stay in registers, except for single elements.
// A GPU recomputes values faster than it reads them from local memory.
// Always true for CPUs, and for chains with matmuls, which read local memory anyway.
bool HoldsInRegisters(const graph::RowChain& chain, const RowChainPlan& plan);

// Adds one decision for each kernel of the chain that reads the result of another: `decision` with
// their names.
void LogChain(const ir::Program& program, const ir::Grouping& grouping,
              const graph::RowChain& chain, graph::FusionDecision decision, graph::FusionLog* log);

}  // namespace tartan::fuse
