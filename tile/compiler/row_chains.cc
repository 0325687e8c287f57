#include "tile/compiler/row_chains.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/graph/chain_effects.h"
#include "tile/lower/row_group_kernel.h"
#include "tile/plan/row_group_plan.h"
#include "tile/plan/row_plan.h"
#include "tile/poly/build_kernel.h"
#include "tile/sem/simplify.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

constexpr int64_t kGpuRowBytes = 1 << 19;  // of which the second cache holds one for each unit

bool IsGpu(const HardwareSettings& settings) { return settings.threads > 1; }

graph::ChainOptions ChainOptionsFor(const HardwareSettings& settings) {
  graph::ChainOptions options;
  options.cores = settings.compute_units;
  if (IsGpu(settings)) {
    // Even a quarter of the units is as quick as three launches.
    options.cores = std::max<int64_t>(settings.compute_units / 4, 1);
    options.row_bytes = kGpuRowBytes;
    options.local_bytes = settings.local_memory_bytes / 2;
  }
  return options;
}

// Kernels that write the whole of their output at every run.
absl::StatusOr<graph::GroupKernels> BuildKernels(const ir::Program& program,
                                                 const poly::ProgramSpaces& spaces,
                                                 const ir::Grouping& grouping,
                                                 const std::vector<bool>& is_constant) {
  graph::GroupKernels kernels(grouping.groups.size());
  for (size_t g = 0; g < grouping.groups.size(); ++g) {
    const ir::KernelGroup& group = grouping.groups[g];
    const ValueId first = group.outputs.front();
    if (program.values[first].shape.element_count() == 0 || is_constant[first]) continue;
    if (group.root != ir::kNoValue) {
      const bool is_contraction =
          std::holds_alternative<ir::Contraction>(program.values[group.root].op);
      if (!is_contraction || !spaces[group.root]->covers_output) continue;
    }
    TARTAN_ASSIGN_OR_RETURN(poly::FlatContraction flat,
                            poly::BuildKernel(program, spaces, grouping, group));
    if (flat.store_guard.empty()) kernels[g] = std::move(flat);
  }
  return kernels;
}

// What the chains read of themselves is in registers, but for single elements.
bool AreHeldInRegisters(const std::vector<graph::RowChain>& chains,
                        const HardwareSettings& settings) {
  for (const graph::RowChain& chain : chains) {
    const auto plan = plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
    for (size_t s = 0; s < plan->stages.size(); ++s) {
      if (chain.kernels[s].output >= 0 && plan->stages[s].stores) return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<ChainedGroups> GroupWithChains(const ir::Program& program,
                                              const poly::ProgramSpaces& spaces,
                                              const std::vector<bool>& is_constant,
                                              const graph::GroupOptions& group_options,
                                              const HardwareSettings& settings) {
  graph::ChainOptions chain_options = ChainOptionsFor(settings);
  const auto divide = [&](const graph::GroupOptions& options) -> absl::StatusOr<ChainedGroups> {
    ChainedGroups divided;
    divided.grouping = graph::GroupIntoKernels(program, spaces, options);
    TARTAN_ASSIGN_OR_RETURN(const graph::GroupKernels kernels,
                            BuildKernels(program, spaces, divided.grouping, is_constant));
    divided.chains = graph::FindRowChains(program, divided.grouping, kernels, chain_options);
    std::erase_if(divided.chains, [&](const graph::RowChain& chain) {
      return IsGpu(settings) &&
             !plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
    });
    divided.order = graph::OrderWithChains(program, divided.grouping, divided.chains);
    return divided;
  };
  TARTAN_ASSIGN_OR_RETURN(ChainedGroups divided, divide(group_options));
  graph::GroupOptions holding = group_options;
  holding.held = graph::RepeatedInChains(program, divided.grouping, divided.chains);
  if (holding.held.empty()) return divided;
  // What registers hold needs no local memory.
  if (IsGpu(settings)) chain_options.local_bytes = 4 * settings.local_memory_bytes;
  TARTAN_ASSIGN_OR_RETURN(ChainedGroups held, divide(holding));
  // GPUs compute faster than they remember, but in registers.
  if (IsGpu(settings) && !AreHeldInRegisters(held.chains, settings)) return divided;
  // Rows with one tensor more may be too long for a chain.
  return held.chains.size() < divided.chains.size() ? std::move(divided) : std::move(held);
}

lower::RowChainKernel CompileRowChain(
    const graph::RowChain& chain, const HardwareSettings& settings, const std::string& name,
    const lower::LowerOptions& options,
    const std::function<void(absl::string_view stage, absl::string_view text)>& dump) {
  for (const poly::RowKernel& kernel : chain.kernels) {
    if (dump) dump("flat", poly::ToString(kernel.flat));
  }
  lower::RowChainKernel lowered;
  if (IsGpu(settings)) {
    const auto plan = plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
    if (dump) dump("plan", absl::StrCat(plan->ToString(), "\n"));
    lowered = lower::LowerRowGroups(chain.kernels, chain.tensors, *plan, name, options);
  } else {
    const plan::RowPlan plan =
        plan::PlanRows(chain.rows, chain.kernels, chain.tensors, chain.row_bytes, settings);
    if (dump) dump("plan", absl::StrCat(plan.ToString(), "\n"));
    lowered = lower::LowerRowChain(chain.kernels, chain.tensors, plan, name, options);
  }
  if (dump) dump("sem", sem::ToString(lowered.kernel));
  lowered.kernel = sem::Simplify(lowered.kernel);
  if (dump) dump("simplified", sem::ToString(lowered.kernel));
  return lowered;
}

}  // namespace tartan::compiler
