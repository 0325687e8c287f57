// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/algorithm.h"

#include <algorithm>
#include <functional>

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

// Builds the kernel of one contraction. Its operands are in memory, except for those in `inlined`.
absl::StatusOr<poly::FlatContraction> BuildAlone(const AnalyzedProgram& in, ValueId root,
                                                 const std::vector<ValueId>& inlined,
                                                 ir::Grouping* all_in_memory) {
  for (ValueId v : inlined) all_in_memory->in_memory[v] = false;
  auto flat = poly::BuildKernel(in.program, in.spaces, *all_in_memory, {root, {root}});
  for (ValueId v : inlined) all_in_memory->in_memory[v] = true;
  return flat;
}

ir::Grouping AllInMemory(const ir::Program& program) {
  ir::Grouping grouping;
  grouping.in_memory.assign(program.values.size(), true);
  return grouping;
}

bool IsReduction(const AnalyzedProgram& in, ValueId v) {
  return in.spaces[v].has_value() && in.program.values[v].shape.element_count() > 0 &&
         !poly::MovesElements(*in.spaces[v]);
}

// Receives the kernel of a contraction alone, and which of its tensors are constants.
using Visit = std::function<void(ValueId root, const poly::FlatContraction& flat,
                                 const std::vector<bool>& constants)>;

// Visits the contractions for which `is_candidate` holds.
absl::Status VisitAlone(const AnalyzedProgram& in,
                        const std::function<bool(ValueId root)>& is_candidate, const Visit& visit) {
  ir::Grouping grouping = AllInMemory(in.program);
  for (size_t v = 0; v < in.program.values.size(); ++v) {
    const auto root = static_cast<ValueId>(v);
    if (!is_candidate(root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat, BuildAlone(in, root, {}, &grouping));
    visit(root, flat, fuse::ConstantTensors(flat, in.is_constant));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Algorithms> SelectWinograd(const AnalyzedProgram& in, fuse::Judge* judge) {
  Algorithms selected;
  // Devices that never use Winograd's algorithm need no kernels built.
  if (!judge->UsesWinograd()) return selected;
  TARTAN_RETURN_IF_ERROR(VisitAlone(
      in, [&](ValueId root) { return IsReduction(in, root); },
      [&](ValueId root, const poly::FlatContraction& flat, const std::vector<bool>& constants) {
        const auto tile = judge->WinogradTile(flat, constants);
        if (tile) selected[root] = WinogradAlgorithm{*tile};
        if (!tile && judge->log() && poly::MatchCorrelation(flat, poly::kWinogradWindow)) {
          judge->Log({.rule = FusionRule::kWinograd,
                      .producer = in.program.values[root].name,
                      .reason = "the estimated gain does not repay the transforms and launches"});
        }
      }));
  return selected;
}

absl::StatusOr<Algorithms> SelectPackedMatmuls(const AnalyzedProgram& in,
                                               const std::vector<ValueId>& held,
                                               fuse::Judge* judge) {
  Algorithms selected;
  if (judge->settings().packed_dot_width < 2) return selected;
  ir::Grouping grouping = AllInMemory(in.program);
  for (auto& [root, factors] : graph::FindIntegerFactors(in.program, in.spaces)) {
    std::erase_if(factors, [&held](ValueId v) {
      return std::find(held.begin(), held.end(), v) != held.end();
    });
    if (!IsReduction(in, root)) continue;
    TARTAN_ASSIGN_OR_RETURN(const poly::FlatContraction flat,
                            BuildAlone(in, root, factors, &grouping));
    const auto form = judge->PackedForm(flat, fuse::ConstantTensors(flat, in.is_constant));
    if (form) {
      selected[root] = PackedAlgorithm{*form, factors};
    } else {
      judge->Log({.rule = FusionRule::kPacked,
                  .producer = in.program.values[root].name,
                  .reason = kFewUses});
    }
  }
  return selected;
}

absl::StatusOr<Algorithms> SelectBFloat16Matmuls(const AnalyzedProgram& in, fuse::Judge* judge) {
  Algorithms selected;
  if (judge->precision() != Precision::kBFloat16 || judge->settings().threads > 1) return selected;
  TARTAN_RETURN_IF_ERROR(VisitAlone(
      in, [&](ValueId root) { return !in.is_constant[root] && IsReduction(in, root); },
      [&](ValueId root, const poly::FlatContraction& flat, const std::vector<bool>& constants) {
        if (judge->MayPackFloats(flat, constants)) {
          selected[root] = PackedAlgorithm{poly::PackedForm::kBFloat16, {}};
        }
      }));
  return selected;
}

absl::StatusOr<std::map<ValueId, int64_t>> SelectSplitK(const AnalyzedProgram& in,
                                                        fuse::Judge* judge) {
  std::map<ValueId, int64_t> selected;
  const std::vector<std::vector<ValueId>> users = graph::UsersOf(in.program);
  TARTAN_RETURN_IF_ERROR(VisitAlone(
      in,
      [&](ValueId root) {
        return !in.is_constant[root] && IsReduction(in, root) &&
               graph::FeedsRowReduction(in.program, users, root);
      },
      [&](ValueId root, const poly::FlatContraction& flat, const std::vector<bool>& constants) {
        const int64_t chunks = judge->SplitKChunks(flat, constants);
        const bool are_equal = graph::ReducedExtent(in.program, root) % chunks == 0;
        if (chunks > 1 && are_equal) selected[root] = chunks;
        judge->Log({.rule = FusionRule::kSplitK,
                    .is_accepted = chunks > 1 && are_equal,
                    .producer = in.program.values[root].name,
                    .reason = chunks > 1 ? absl::StrCat(chunks, " chunks of K")
                                         : "the matmul is as fast without split-K"});
      }));
  return selected;
}

absl::StatusOr<std::set<ValueId>> SelectQuantizedMatmuls(const AnalyzedProgram& in,
                                                         fuse::Judge* judge) {
  std::set<ValueId> selected;
  if (judge->settings().packed_dot_width < 2) return selected;
  TARTAN_RETURN_IF_ERROR(VisitAlone(
      in,
      [&](ValueId root) {
        return graph::IsQuantizable(in.program, in.spaces, in.is_constant, root);
      },
      [&](ValueId root, const poly::FlatContraction& flat, const std::vector<bool>& constants) {
        if (judge->MayQuantize(flat, constants)) {
          selected.insert(root);
        } else {
          judge->Log({.rule = FusionRule::kQuantized,
                      .producer = in.program.values[root].name,
                      .reason = kFewUses});
        }
      }));
  return selected;
}

}  // namespace tartan::compiler
