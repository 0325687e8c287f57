// Chains of kernels over the same rows: which there are in a program, and one kernel for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/graph/chain_groups.h"
#include "tile/graph/group.h"
#include "tile/lower/row_kernel.h"

namespace tartan::compiler {

struct ChainedGroups {
  ir::Grouping grouping;
  std::vector<graph::RowChain> chains;
  std::vector<int> order;  // in which the groups run; those of a chain are neighbours
};

// Divides a program into kernels and finds the chains among them. `is_constant` tells of each value
// whether it depends on constants alone.
absl::StatusOr<ChainedGroups> GroupWithChains(const ir::Program& program,
                                              const poly::ProgramSpaces& spaces,
                                              const std::vector<bool>& is_constant,
                                              const graph::GroupOptions& group_options,
                                              const HardwareSettings& settings);

// The chain's kernel. `dump` is that of CompileOptions.
lower::RowChainKernel CompileRowChain(
    const graph::RowChain& chain, const HardwareSettings& settings, const std::string& name,
    const lower::LowerOptions& options,
    const std::function<void(absl::string_view stage, absl::string_view text)>& dump);

}  // namespace tartan::compiler
