// SPDX-License-Identifier: Apache-2.0
// Chains over rows that have products of matrices, as attention has: whether one launch is quicker
// than several, and its plan. Layers that are alike are planned once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/compiler/plan_memory.h"
#include "tile/graph/chain_groups.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::compiler {

class ProductChains {
 public:
  // Of a GPU. `is_constant` tells of each value whether it is known at load; the arguments outlive
  // the object. Products apart may go to a matrix unit as `precision` allows, and hand on tensors
  // of so many bytes.
  ProductChains(const std::vector<bool>& is_constant, const HardwareSettings& settings,
                Precision precision, int64_t most_handed_on_bytes)
      : is_constant_(is_constant),
        settings_(settings),
        precision_(precision),
        most_handed_on_bytes_(most_handed_on_bytes) {}

  // As graph::ChainOptions::takes_products.
  bool IsBetter(const graph::RowChain& chain, const graph::RowChain* without);

  std::optional<plan::RowGroupPlan> Plan(const graph::RowChain& chain);

 private:
  std::optional<plan::RowGroupPlan> NewPlan(const graph::RowChain& chain) const;
  double KernelUs(const poly::FlatContraction& flat);
  // Of a chain without products, or of its kernels.
  double RowsUs(const graph::RowChain& chain);

  const std::vector<bool>& is_constant_;
  const HardwareSettings& settings_;
  const Precision precision_;
  const int64_t most_handed_on_bytes_;
  PlanMemory kernels_;
  std::unordered_map<std::string, std::optional<plan::RowGroupPlan>> chains_;  // by form
};

}  // namespace tartan::compiler
