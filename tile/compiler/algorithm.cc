// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/algorithm.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/graph/integer_factors.h"
#include "tile/graph/matmul/quantize_matmuls.h"
#include "tile/graph/matmul/split_k.h"
#include "tile/graph/rewriter.h"
#include "tile/poly/correlation.h"
#include "tile/poly/winograd.h"

namespace tartan::compiler {
namespace {

using graph::FusionRule;
using ir::ValueId;

constexpr char kFewUses[] = "the matmul is small, or uses each packed word too rarely";

void Refuse(FusionRule rule, const std::string& value, const char* reason, fuse::Judge* judge) {
  if (judge->log() == nullptr) return;
  judge->log()->Add({.rule = rule, .producer = value, .reason = reason});
}

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

bool IsReduction(const ir::Program& program, const poly::ProgramSpaces& spaces, ValueId v) {
  return spaces[v].has_value() && program.values[v].shape.element_count() > 0 &&
         !poly::MovesElements(*spaces[v]);
}

}  // namespace

absl::StatusOr<Algorithms> SelectWinograd(const ir::Program& program,
                                          const poly::ProgramSpaces& spaces,
                                          const std::vector<bool>& is_constant,
                                          fuse::Judge* judge) {
  Algorithms selected;
  // Devices that never use Winograd's algorithm need no kernels built.
  if (!judge->UsesWinograd()) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (!IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    const auto tile = judge->WinogradTile(flat, fuse::ConstantTensors(flat, is_constant));
    if (tile) selected[root] = WinogradAlgorithm{*tile};
    if (!tile && judge->log() != nullptr && poly::MatchCorrelation(flat, poly::kWinogradWindow)) {
      Refuse(FusionRule::kWinograd, program.values[root].name,
             "the estimated gain does not repay the transforms and launches", judge);
    }
  }
  return selected;
}

absl::StatusOr<Algorithms> SelectPackedMatmuls(const ir::Program& program,
                                               const poly::ProgramSpaces& spaces,
                                               const std::vector<bool>& is_constant,
                                               const std::vector<ValueId>& held,
                                               fuse::Judge* judge) {
  Algorithms selected;
  if (judge->settings().packed_dot_width < 2) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (auto& [root, factors] : graph::FindIntegerFactors(program, spaces)) {
    std::erase_if(factors, [&held](ValueId v) {
      return std::find(held.begin(), held.end(), v) != held.end();
    });
    if (!IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, factors, &grouping));
    const auto form = judge->PackedForm(flat, fuse::ConstantTensors(flat, is_constant));
    if (form) selected[root] = PackedAlgorithm{*form, factors};
    if (!form) Refuse(FusionRule::kPacked, program.values[root].name, kFewUses, judge);
  }
  return selected;
}

absl::StatusOr<Algorithms> SelectBFloat16Matmuls(const ir::Program& program,
                                                 const poly::ProgramSpaces& spaces,
                                                 const std::vector<bool>& is_constant,
                                                 fuse::Judge* judge) {
  Algorithms selected;
  if (judge->precision() != Precision::kBFloat16 || judge->settings().threads > 1) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (is_constant[v] || !IsReduction(program, spaces, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    if (judge->MayPackFloats(flat, fuse::ConstantTensors(flat, is_constant))) {
      selected[root] = PackedAlgorithm{poly::PackedForm::kBFloat16, {}};
    }
  }
  return selected;
}

absl::StatusOr<std::map<ValueId, int64_t>> SelectSplitK(const ir::Program& program,
                                                        const poly::ProgramSpaces& spaces,
                                                        const std::vector<bool>& is_constant,
                                                        fuse::Judge* judge) {
  std::map<ValueId, int64_t> selected;
  ir::Grouping grouping = AllInMemory(program);
  const std::vector<std::vector<ValueId>> users = graph::UsersOf(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto root = static_cast<ValueId>(v);
    if (is_constant[v] || !IsReduction(program, spaces, root)) continue;
    if (!graph::FeedsRowReduction(program, users, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    const int64_t chunks = judge->SplitKChunks(flat, fuse::ConstantTensors(flat, is_constant));
    const bool are_equal = graph::ReducedExtent(program, root) % chunks == 0;
    if (chunks > 1 && are_equal) selected[root] = chunks;
    if (judge->log() == nullptr) continue;
    judge->log()->Add({.rule = FusionRule::kSplitK,
                       .is_accepted = chunks > 1 && are_equal,
                       .producer = program.values[root].name,
                       .reason = chunks > 1 ? absl::StrCat(chunks, " chunks of K")
                                            : "the matmul is as fast without split-K"});
  }
  return selected;
}

absl::StatusOr<std::set<ValueId>> SelectQuantizedMatmuls(const ir::Program& program,
                                                         const poly::ProgramSpaces& spaces,
                                                         const std::vector<bool>& is_constant,
                                                         fuse::Judge* judge) {
  std::set<ValueId> selected;
  if (judge->settings().packed_dot_width < 2) return selected;
  ir::Grouping grouping = AllInMemory(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueId root = static_cast<ValueId>(v);
    if (!graph::IsQuantizable(program, spaces, is_constant, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(program, spaces, root, {}, &grouping));
    if (judge->MayQuantize(flat, fuse::ConstantTensors(flat, is_constant))) {
      selected.insert(root);
    } else {
      Refuse(FusionRule::kQuantized, program.values[root].name, kFewUses, judge);
    }
  }
  return selected;
}

}  // namespace tartan::compiler
