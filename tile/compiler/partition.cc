// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/partition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/pad_rows.h"
#include "tile/fuse/row_chains.h"
#include "tile/graph/rows/chain_effects.h"
#include "tile/lower/special/lower_special.h"
#include "tile/poly/build_kernel.h"

namespace tartan::compiler {
namespace {

using fuse::PlannedChain;
using graph::FusionDecision;
using graph::FusionRule;
using ir::ValueId;

bool IsEmpty(const ir::Program& program, const ir::KernelGroup& group) {
  return program.values[group.outputs.front()].shape.element_count() == 0;
}

bool IsSpecial(const ir::Program& program, const ir::KernelGroup& group) {
  return group.root != ir::kNoValue &&
         std::holds_alternative<ir::Special>(program.values[group.root].op);
}

std::string Describe(const ir::Program& program, const ir::KernelGroup& group) {
  std::vector<std::string> names;
  for (ValueId output : group.outputs) {
    names.push_back(
        absl::StrCat(program.values[output].name, " ", program.values[output].shape.ToString()));
  }
  return absl::StrJoin(names, ", ");
}

// One way to divide the program, with the kernel of each group. Special operations and groups
// without elements have no kernel.
struct Division {
  ir::Grouping grouping;
  std::vector<std::optional<poly::FlatContraction>> flats;
  std::map<ValueId, TensorShape> padded;
  std::vector<PlannedChain> chains;
  graph::FusionLog log;
};

std::vector<graph::ChainGroups> ChainsOf(const Division& division) {
  std::vector<graph::ChainGroups> chains;
  for (const PlannedChain& planned : division.chains) chains.push_back(planned.chain.groups);
  return chains;
}

// Counts launches; a chain is one launch.
size_t LaunchesOf(const Division& division) {
  size_t launches = division.grouping.groups.size();
  for (const PlannedChain& planned : division.chains) launches -= planned.chain.groups.size() - 1;
  return launches;
}

class Partitioner {
 public:
  Partitioner(const AnalyzedProgram& in, const Algorithms& algorithms,
              const PartitionOptions& options, fuse::Judge* judge)
      : program_(in.program),
        spaces_(in.spaces),
        is_constant_(in.is_constant),
        algorithms_(algorithms),
        options_(options),
        judge_(*judge) {}

  absl::StatusOr<Partition> Run() {
    TARTAN_ASSIGN_OR_RETURN(Division division, ChooseDivision());
    Partition partition;
    std::vector<int> chain_of(division.grouping.groups.size(), -1);
    for (size_t c = 0; c < division.chains.size(); ++c) {
      for (int group : division.chains[c].chain.groups) chain_of[group] = static_cast<int>(c);
    }
    int last = -1;  // last emitted chain; the groups of a chain are adjacent in the order
    for (int g : graph::OrderWithRowChains(program_, division.grouping, ChainsOf(division))) {
      const ir::KernelGroup& group = division.grouping.groups[g];
      if (IsEmpty(program_, group)) continue;
      const int chain = chain_of[g];
      if (chain < 0) {
        partition.kernels.push_back(
            MakeKernel(division.grouping, group, std::move(division.flats[g])));
      } else if (chain != last) {
        partition.kernels.push_back(
            MakeChain(division.grouping, std::move(division.chains[chain])));
      }
      last = chain;
    }
    partition.grouping = std::move(division.grouping);
    partition.padded = std::move(division.padded);
    return partition;
  }

 private:
  // Compares at most two proposals: the grouping as computed, and one that stores values which
  // several kernels of a chain would otherwise recompute.
  absl::StatusOr<Division> ChooseDivision() {
    TARTAN_ASSIGN_OR_RETURN(
        Division division,
        Divide(options_.grouping, fuse::ChainLimits(judge_.settings(), /*holds_results=*/false)));
    graph::GroupOptions holding = options_.grouping;
    const std::vector<ValueId> repeated =
        graph::RepeatedInChains(program_, division.grouping, ChainsOf(division));
    if (repeated.empty()) return Chosen(std::move(division));
    holding.held.insert(holding.held.end(), repeated.begin(), repeated.end());
    TARTAN_ASSIGN_OR_RETURN(
        Division held,
        Divide(holding, fuse::ChainLimits(judge_.settings(), /*holds_results=*/true)));
    const bool in_registers =
        std::all_of(held.chains.begin(), held.chains.end(), [](const PlannedChain& planned) {
          return fuse::HoldsInRegisters(planned.chain, planned.plan);
        });
    // One more stored tensor may make rows too long for a chain or for a part of it.
    const bool is_better = in_registers && held.chains.size() >= division.chains.size() &&
                           LaunchesOf(held) <= LaunchesOf(division);
    for (const ValueId value : repeated) {
      judge_.Log({.rule = FusionRule::kRowFusion,
                  .is_accepted = is_better,
                  .producer = program_.values[value].name,
                  .reason = is_better ? "the launch stores it for several of its kernels"
                            : in_registers
                                ? "several kernels compute it, because storing it costs launches"
                                : "several kernels compute it, because registers cannot hold it"});
    }
    return Chosen(is_better ? std::move(held) : std::move(division));
  }

  // Keeps the decisions of the chosen division only.
  Division Chosen(Division division) {
    if (judge_.log() != nullptr) judge_.log()->Add(division.log);
    return division;
  }

  absl::StatusOr<Division> Divide(graph::GroupOptions grouping, graph::ChainOptions limits) {
    Division division;
    if (judge_.log() != nullptr) grouping.log = limits.log = &division.log;
    division.grouping = graph::GroupIntoKernels(program_, spaces_, grouping);
    graph::GroupKernels may_chain;
    for (const ir::KernelGroup& group : division.grouping.groups) {
      std::optional<poly::FlatContraction>& flat = division.flats.emplace_back();
      if (IsEmpty(program_, group) || IsSpecial(program_, group)) continue;
      TARTAN_ASSIGN_OR_RETURN(flat, poly::BuildKernel(program_, spaces_, division.grouping, group));
    }
    if (options_.pad_rows) division.padded = PadRowsOf(&division);
    if (!options_.fuse_rows) return division;
    for (size_t g = 0; g < division.flats.size(); ++g) {
      const ir::KernelGroup& group = division.grouping.groups[g];
      may_chain.push_back(MayChain(group, division.flats[g]) ? &*division.flats[g] : nullptr);
    }
    if (judge_.settings().threads > 1 && options_.fuse_attention) {
      limits.accepts_matmuls = [&](const graph::RowChain& chain, const graph::RowChain* without) {
        if (HasAlgorithm(division.grouping, chain)) return false;
        const FusionDecision decision = fuse::DecideAttention(
            chain, without, is_constant_, options_.max_intermediate_bytes, &judge_);
        LogChain(chain, decision, &division);
        return decision.is_accepted;
      };
    }
    std::vector<graph::RowChain> chains =
        graph::FindRowChains(program_, division.grouping, may_chain, limits);
    fuse::PlanSeparateKernels(chains, is_constant_, &judge_);
    for (graph::RowChain& chain : chains) {
      if (auto plan = Plan(chain, &division)) {
        division.chains.push_back({std::move(chain), *std::move(plan)});
      }
    }
    return division;
  }

  void LogChain(const graph::RowChain& chain, const FusionDecision& decision, Division* division) {
    if (judge_.log() == nullptr) return;
    fuse::LogChain(program_, division->grouping, chain, decision, &division->log);
  }

  std::map<ValueId, TensorShape> PadRowsOf(Division* division) const {
    std::vector<bool> kept;
    for (const ir::KernelGroup& group : division->grouping.groups) {
      kept.push_back(is_constant_[group.outputs.front()] || algorithms_.count(group.root) > 0 ||
                     !CoversOutput(group));
    }
    return PadRows(program_, division->grouping, kept, &division->flats);
  }

  std::optional<fuse::RowChainPlan> Plan(const graph::RowChain& chain, Division* division) {
    FusionDecision decision = {.rule = FusionRule::kRowFusion};
    auto plan = fuse::PlanChain(chain, is_constant_, &judge_, &decision);
    // Decisions about matmuls were logged when the chain was formed.
    if (!chain.has_matmuls) LogChain(chain, decision, division);
    return plan;
  }

  // Returns true if some contraction of the chain has another algorithm than the direct one.
  bool HasAlgorithm(const ir::Grouping& grouping, const graph::RowChain& chain) const {
    return std::any_of(chain.groups.begin(), chain.groups.end(), [&](int group) {
      return algorithms_.count(grouping.groups[group].root) > 0;
    });
  }

  // Returns true if the kernel of a reduction writes its results into a part of a larger value.
  bool WritesPart(const ir::KernelGroup& group) const {
    return group.writes_piece(program_) && !poly::MovesElements(*spaces_[group.outputs.front()]);
  }

  // Returns true for special operations, whose coverage is not known here.
  bool CoversOutput(const ir::KernelGroup& group) const {
    return group.root == ir::kNoValue || !spaces_[group.root].has_value() ||
           spaces_[group.root]->covers_output;
  }

  // Returns true for kernels that write their whole output at every run.
  bool MayChain(const ir::KernelGroup& group,
                const std::optional<poly::FlatContraction>& flat) const {
    return flat.has_value() && !is_constant_[group.outputs.front()] && flat->store_guard.empty() &&
           !WritesPart(group) && CoversOutput(group);
  }

  // `flat` is empty for a special operation.
  PartitionedKernel MakeKernel(const ir::Grouping& grouping, const ir::KernelGroup& group,
                               std::optional<poly::FlatContraction> flat) {
    PartitionedKernel kernel;
    kernel.outputs = group.outputs;
    kernel.description = Describe(program_, group);
    if (IsSpecial(program_, group)) {
      const auto& special = std::get<ir::Special>(program_.values[group.root].op);
      const int copied = lower::CopiedOperand(special.kind);
      kernel.is_prefilled = copied >= 0 || lower::StartsAsZeros(special.kind);
      if (copied >= 0) kernel.prefill = special.operands[copied];
      kernel.form = SpecialKernel{group.root};
      return kernel;
    }
    flat->comments.push_back(kernel.description);
    if (!CoversOutput(group) && grouping.written_by_parts.count(group.root) == 0) {
      kernel.is_prefilled = true;
      kernel.prefill = std::get<ir::Contraction>(program_.values[group.root].op).default_value;
    }
    kernel.form = MakeForm(group, *std::move(flat));
    return kernel;
  }

  // The algorithm was proposed for the contraction alone. The kernel is direct if the values
  // inlined into it do not fit the algorithm. A float matmul is packed if that is faster.
  KernelForm MakeForm(const ir::KernelGroup& group, poly::FlatContraction flat) {
    const auto proposed = algorithms_.find(group.root);
    if (proposed == algorithms_.end()) return flat;
    const bool is_winograd = std::holds_alternative<WinogradAlgorithm>(proposed->second);
    FusionDecision decision = {
        .rule = is_winograd ? FusionRule::kWinograd : FusionRule::kPacked,
        .producer = program_.values[group.root].name,
        .reason = "the operands that its kernel inlines do not fit the algorithm"};
    std::optional<KernelForm> form =
        is_winograd ? WinogradOf(flat, std::get<WinogradAlgorithm>(proposed->second), &decision)
                    : PackedOf(flat, std::get<PackedAlgorithm>(proposed->second), &decision);
    decision.is_accepted = form.has_value();
    judge_.Log(std::move(decision));
    return form.has_value() ? *std::move(form) : std::move(flat);
  }

  static std::optional<KernelForm> WinogradOf(const poly::FlatContraction& flat,
                                              const WinogradAlgorithm& winograd,
                                              FusionDecision* decision) {
    const auto correlation = poly::MatchCorrelation(flat, poly::kWinogradWindow);
    if (!correlation) return std::nullopt;
    decision->reason = absl::StrCat("tiles of ", winograd.tile, "x", winograd.tile);
    return poly::MakeWinograd(flat, *correlation, winograd.tile);
  }

  std::optional<KernelForm> PackedOf(const poly::FlatContraction& flat,
                                     const PackedAlgorithm& algorithm, FusionDecision* decision) {
    auto packed = poly::PackMatmul(flat, algorithm.form);
    if (!packed) return std::nullopt;
    decision->reason = "packed words are used often enough";
    if (algorithm.form == poly::PackedForm::kBFloat16) {
      decision->reason = "predicted times";
      decision->fused_us = judge_.PackedUs(*packed, is_constant_);
      decision->separate_us = judge_.DirectUs(flat, fuse::ConstantTensors(flat, is_constant_));
      if (decision->fused_us >= decision->separate_us) return std::nullopt;
    }
    return *std::move(packed);
  }

  PartitionedKernel MakeChain(const ir::Grouping& grouping, PlannedChain planned) const {
    PartitionedKernel kernel;
    std::vector<std::string> descriptions;
    graph::RowChain& chain = planned.chain;
    for (size_t k = 0; k < chain.groups.size(); ++k) {
      const ir::KernelGroup& group = grouping.groups[chain.groups[k]];
      descriptions.push_back(Describe(program_, group));
      chain.kernels[k].flat.comments.push_back(descriptions.back());
      kernel.outputs = group.outputs;
    }
    kernel.description = absl::StrJoin(descriptions, "; ");
    kernel.form = std::move(planned);
    return kernel;
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const std::vector<bool>& is_constant_;
  const Algorithms& algorithms_;
  const PartitionOptions& options_;
  fuse::Judge& judge_;
};

}  // namespace

absl::StatusOr<Partition> PartitionProgram(const AnalyzedProgram& in, const Algorithms& algorithms,
                                           const PartitionOptions& options, fuse::Judge* judge) {
  return Partitioner(in, algorithms, options, judge).Run();
}

}  // namespace tartan::compiler
