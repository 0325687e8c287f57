// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/matmul/algorithm.h"

#include <algorithm>

#include "tile/base/status_macros.h"
#include "tile/graph/integer_factors.h"
#include "tile/graph/matmul/quantize_matmuls.h"
#include "tile/graph/matmul/split_k.h"
#include "tile/graph/rewriter.h"
#include "tile/plan/select_packing.h"
#include "tile/plan/select_plan.h"
#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Builds the kernel of one contraction. Its operands are in memory, except for those in `inlined`.
absl::StatusOr<poly::FlatContraction> BuildAlone(const ir::Program& program,
                                                 const poly::ProgramSpaces& spaces, ValueId root,
                                                 const std::vector<ValueId>& inlined,
                                                 ir::Grouping* all_in_memory) {
  for (ValueId v : inlined) all_in_memory->in_memory[v] = false;
  auto flat = poly::BuildKernel(program, spaces, *all_in_memory, {root, {root}});
  for (ValueId v : inlined) all_in_memory->in_memory[v] = true;
  return flat;
}

ir::Grouping AllInMemory(const ir::Program& program) {
  ir::Grouping grouping;
  grouping.in_memory.assign(program.values.size(), true);
  return grouping;
}

// Returns, per tensor of the kernel, whether it is a load-time constant.
std::vector<bool> ConstantsOf(const poly::FlatContraction& flat,
                              const std::vector<bool>& is_constant) {
  std::vector<bool> constants;
  for (const poly::Tensor& tensor : flat.tensors) constants.push_back(is_constant[tensor.value]);
  return constants;
}

bool IsReduction(const ir::Program& program, const poly::ProgramSpaces& spaces, ValueId v) {
  return spaces[v].has_value() && program.values[v].shape.element_count() > 0 &&
         !poly::MovesElements(*spaces[v]);
}

}  // namespace

absl::StatusOr<Algorithms> SelectWinograd(const ir::Program& program,
                                          const poly::ProgramSpaces& spaces,
                                          const std::vector<bool>& is_constant,
                                          const CompileOptions& options) {
  Algorithms selected;
  // Devices that never use Winograd's algorithm need no kernels built.
  if (options.settings.threads > 1 || options.winograd == plan::Winograd::kNever) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (!IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    const auto tile =
        plan::SelectWinogradTile(flat, options.settings, ConstantsOf(flat, is_constant),
                                 options.winograd, options.precision);
    if (tile) selected[root] = WinogradAlgorithm{*tile};
  }
  return selected;
}

absl::StatusOr<Algorithms> SelectPackedMatmuls(const ir::Program& program,
                                               const poly::ProgramSpaces& spaces,
                                               const std::vector<bool>& is_constant,
                                               const std::vector<ValueId>& held,
                                               const CompileOptions& options) {
  Algorithms selected;
  if (options.settings.packed_dot_width < 2) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (auto& [root, factors] : graph::FindIntegerFactors(program, spaces)) {
    std::erase_if(factors, [&held](ValueId v) {
      return std::find(held.begin(), held.end(), v) != held.end();
    });
    if (!IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, factors, &grouping));
    const auto form =
        plan::SelectPackedForm(flat, options.settings, ConstantsOf(flat, is_constant));
    if (form) selected[root] = PackedAlgorithm{*form, factors};
  }
  return selected;
}

absl::StatusOr<Algorithms> SelectBFloat16Matmuls(const ir::Program& program,
                                                 const poly::ProgramSpaces& spaces,
                                                 const std::vector<bool>& is_constant,
                                                 const CompileOptions& options) {
  Algorithms selected;
  if (options.precision != Precision::kBFloat16 || options.settings.threads > 1) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (is_constant[v] || !IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    if (plan::MayPackFloats(flat, options.settings, ConstantsOf(flat, is_constant))) {
      selected[root] = PackedAlgorithm{poly::PackedForm::kBFloat16, {}};
    }
  }
  return selected;
}

absl::StatusOr<std::map<ValueId, int64_t>> SelectSplitK(const ir::Program& program,
                                                        const poly::ProgramSpaces& spaces,
                                                        const std::vector<bool>& is_constant,
                                                        const CompileOptions& options) {
  std::map<ValueId, int64_t> selected;
  // Identical layers share a result.
  std::map<std::pair<std::string, std::vector<bool>>, int64_t> known;
  ir::Grouping grouping = AllInMemory(program);
  const std::vector<std::vector<ValueId>> users = graph::UsersOf(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto root = static_cast<ValueId>(v);
    if (is_constant[v] || !IsReduction(program, spaces, root)) continue;
    if (!graph::FeedsRowReduction(program, users, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    const std::vector<bool> constants = ConstantsOf(flat, is_constant);
    const auto [runs, is_new] = known.try_emplace({poly::FormKey(flat), constants}, 1);
    if (is_new)
      runs->second = plan::BestSplitKChunks(flat, options.settings, constants, options.precision);
    const bool are_equal = graph::ReducedExtent(program, root) % runs->second == 0;
    if (runs->second > 1 && are_equal) selected[root] = runs->second;
  }
  return selected;
}

absl::StatusOr<std::set<ValueId>> SelectQuantizedMatmuls(const ir::Program& program,
                                                         const poly::ProgramSpaces& spaces,
                                                         const std::vector<bool>& is_constant,
                                                         const CompileOptions& options) {
  std::set<ValueId> selected;
  if (options.settings.packed_dot_width < 2) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (!graph::IsQuantizable(program, spaces, is_constant, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    const std::vector<bool> constants = ConstantsOf(flat, is_constant);
    if (plan::MayQuantize(flat, options.settings, constants)) {
      selected.insert(root);
    }
  }
  return selected;
}

}  // namespace tartan::compiler
