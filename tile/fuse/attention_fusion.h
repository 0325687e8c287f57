// SPDX-License-Identifier: Apache-2.0
// Decides whether a row chain with matmuls, such as attention, is faster as one fused launch than
// as several, and plans it. Identical layers are planned once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/fuse/judge.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::fuse {

class AttentionFusion {
 public:
  // For GPUs. `is_constant`: per value, whether it is a load-time constant. All arguments must
  // outlive the object.
  // Separate matmuls may write intermediate tensors of up to `max_intermediate_bytes` bytes.
  AttentionFusion(const std::vector<bool>& is_constant, int64_t max_intermediate_bytes,
                  Judge* judge)
      : is_constant_(is_constant),
        max_intermediate_bytes_(max_intermediate_bytes),
        judge_(*judge) {}

  // Implements graph::ChainOptions::accepts_matmuls. Returns the reason and predicted times.
  graph::FusionDecision Decide(const graph::RowChain& chain, const graph::RowChain* without);

  std::optional<plan::RowGroupPlan> Plan(const graph::RowChain& chain);

 private:
  std::optional<plan::RowGroupPlan> NewPlan(const graph::RowChain& chain) const;
  double KernelUs(const poly::FlatContraction& flat);
  // Predicted microseconds of a chain: fused if it has a plan, else the sum of its kernels.
  double RowsUs(const graph::RowChain& chain);

  const std::vector<bool>& is_constant_;
  const int64_t max_intermediate_bytes_;
  Judge& judge_;
  // Plans by form of the chain.
  std::unordered_map<std::string, std::optional<plan::RowGroupPlan>> chains_;
};

}  // namespace tartan::fuse
