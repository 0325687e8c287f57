// SPDX-License-Identifier: Apache-2.0
// Decides whether a row chain with matmuls, such as attention, is faster as one fused launch than
// as several, and plans it. Identical layers are planned once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/compiler/plan_cache.h"
#include "tile/graph/chain_groups.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::compiler {

class AttentionFusion {
 public:
  // For GPUs. `is_constant`: per value, whether it is a load-time constant. All arguments must
  // outlive the object.
  // Separate matmuls may use a matrix unit as `precision` allows, and may write intermediate
  // tensors of up to `max_intermediate_bytes` bytes.
  AttentionFusion(const std::vector<bool>& is_constant, const HardwareSettings& settings,
                  Precision precision, int64_t max_intermediate_bytes)
      : is_constant_(is_constant),
        settings_(settings),
        precision_(precision),
        max_intermediate_bytes_(max_intermediate_bytes) {}

  // Implements graph::ChainOptions::accepts_matmuls.
  bool IsBetter(const graph::RowChain& chain, const graph::RowChain* without);

  std::optional<plan::RowGroupPlan> Plan(const graph::RowChain& chain);

 private:
  std::optional<plan::RowGroupPlan> NewPlan(const graph::RowChain& chain) const;
  double KernelUs(const poly::FlatContraction& flat);
  // Predicted microseconds of a chain: fused if it has a plan, else the sum of its kernels.
  double RowsUs(const graph::RowChain& chain);

  const std::vector<bool>& is_constant_;
  const HardwareSettings& settings_;
  const Precision precision_;
  const int64_t max_intermediate_bytes_;
  PlanCache kernels_;
  // Plans by form of the chain.
  std::unordered_map<std::string, std::optional<plan::RowGroupPlan>> chains_;
};

}  // namespace tartan::compiler
