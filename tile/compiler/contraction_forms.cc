#include "tile/compiler/contraction_forms.h"

#include <map>
#include <utility>

#include "tile/base/status_macros.h"
#include "tile/graph/constants.h"
#include "tile/graph/integer_factors.h"
#include "tile/plan/packing_choice.h"
#include "tile/plan/winograd_choice.h"

namespace tartan::compiler {

using ir::ValueId;

absl::StatusOr<std::set<ValueId>> FindWinograd(const ir::Program& program,
                                               const poly::ProgramSpaces& spaces,
                                               const ir::Grouping& grouping,
                                               const CompileOptions& options) {
  const std::vector<bool> constants = graph::FindConstants(program);
  std::set<ValueId> found;
  for (const ir::KernelGroup& group : grouping.groups) {
    if (group.root == ir::kNoValue || !spaces[group.root] ||
        spaces[group.root]->constraints.empty() ||
        program.values[group.root].shape.element_count() == 0) {
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            poly::BuildKernel(program, spaces, grouping, group));
    std::vector<bool> is_constant;
    for (const poly::Tensor& tensor : flat.tensors) is_constant.push_back(constants[tensor.value]);
    if (plan::ChooseWinograd(flat, options.settings, is_constant, options.winograd)) {
      found.insert(group.root);
    }
  }
  return found;
}

absl::StatusOr<std::vector<ValueId>> FindFactors(const ir::Program& program,
                                                 const poly::ProgramSpaces& spaces,
                                                 const graph::GroupOptions& group_options,
                                                 const CompileOptions& options) {
  std::map<ValueId, std::vector<ValueId>> factors = graph::FindIntegerFactors(program, spaces);
  if (factors.empty()) return std::vector<ValueId>();
  graph::GroupOptions inlining = group_options;
  for (const auto& [root, values] : factors) {
    inlining.inlined.insert(inlining.inlined.end(), values.begin(), values.end());
  }
  const ir::Grouping grouping = graph::GroupIntoKernels(program, spaces, inlining);
  std::vector<ValueId> found;
  for (const ir::KernelGroup& group : grouping.groups) {
    const auto it = factors.find(group.root);
    if (it == factors.end() || program.values[group.root].shape.element_count() == 0) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            poly::BuildKernel(program, spaces, grouping, group));
    if (!PackWorthwhile(flat, options)) continue;
    found.insert(found.end(), it->second.begin(), it->second.end());
  }
  return found;
}

std::optional<poly::PackedProduct> PackWorthwhile(const poly::FlatContraction& flat,
                                                  const CompileOptions& options) {
  if (!options.pack_products || options.planner) return std::nullopt;
  return plan::ChoosePacking(flat, options.settings);
}

}  // namespace tartan::compiler
