// What a plan costs on one core of a CPU: the terms that tell plans apart.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// What the model needs of a kernel, gathered once for all the plans tried.
struct CpuKernel {
  struct Access {
    std::vector<int64_t> strides;  // per index, in elements
    int64_t bytes = 4;             // of an element
    // The indices along which neighbouring lanes cannot be read together: a condition or a computed
    // coordinate depends on them.
    std::vector<bool> irregular;
    bool in_body = true;
    int access = -1;                  // its position in flat.accesses; -1: at computed coordinates
    std::vector<int> by_stride = {};  // the indices that move it, the least distance first
  };

  CpuKernel(const poly::FlatContraction& flat, const HardwareSettings& settings);

  const poly::FlatContraction& flat;
  const HardwareSettings& settings;
  std::vector<Access> reads;
  std::vector<Access> writes;
  double body_operations = 0;      // vector instructions for a vector of results
  double epilogue_operations = 0;  // for all outputs together
  // Conditions or coordinates that differ along the index, which vectors compute lane by lane.
  std::vector<int> body_irregular;
  std::vector<int> epilogue_irregular;
  // The share of elements at which all conditions of the epilogue hold that differ along the index.
  std::vector<double> epilogue_inside;
  std::vector<bool> constrained;  // an index that a constraint of the reduction depends on
  std::vector<bool> chosen;       // an index that a choice depends on: plans unroll all of it
  int64_t element_bytes = 4;      // of what is computed with
  // Small windows that reads slide by, where nothing else is reduced: what neighbouring outputs
  // share of them can be loaded once.
  struct Window {
    int output = 0;
    int reduced = 0;
  };
  std::vector<Window> windows;
  double registers = 16;  // vectors that a core holds
};

// Some index is chosen by.
bool HasChoices(const CpuKernel& kernel);

// Cycles of one core for the whole kernel.
struct CpuCost {
  double compute = 0;   // the slowest of arithmetic, loads and waiting for accumulators
  double epilogue = 0;  // storing, loops, joining partial results
  std::array<double, 3> memory = {0, 0, 0};  // moving data into L1, into L2, from main memory
  double imbalance = 1;  // time lost because work-items do not divide evenly among cores

  double total() const;
  std::string ToString() const;
};

// The plan has a copy of what the access reads.
bool IsStaged(const KernelPlan& plan, const CpuKernel::Access& read);
// The register tile alone.
CpuCost ComputeCost(const CpuKernel& kernel, const KernelPlan& plan);
// Adds the terms that depend on tasks, on the order of loops and on the block.
void AddMemoryCost(const CpuKernel& kernel, const KernelPlan& plan, CpuCost* cost);
// The accumulators and operands of the tile fit into registers.
bool FitsRegisters(const CpuKernel& kernel, const KernelPlan& plan);
// Statements of one tile, roughly: drivers take their time to compile long kernels.
double StatementCount(const CpuKernel& kernel, const KernelPlan& plan);

}  // namespace tartan::plan
