// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/group_reasons.h"

#include <string>
#include <variant>

#include "tile/graph/grouping/group_graph.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

class GroupLogger {
 public:
  GroupLogger(const ir::Program& program, const ir::Grouping& grouping,
              const std::vector<ValueId>& region, const GroupReasons& reasons, FusionLog* log)
      : program_(program), grouping_(grouping), region_(region), reasons_(reasons), log_(*log) {}

  void Run() {
    const GroupGraph graph(program_, grouping_);
    for (int g = 0; g < graph.group_count(); ++g) {
      for (const ValueId user : graph.computed(g)) {
        for (const ValueId operand : ir::Operands(program_.values[user].op)) {
          AddPair(operand, user, grouping_.groups[g], graph.computed(g).count(operand) > 0);
        }
      }
    }
  }

 private:
  const std::string& NameOf(ValueId v) const { return program_.values[v].name; }

  bool HasKernel(ValueId v) const {
    return !NameOf(v).empty() && !std::holds_alternative<ir::Input>(program_.values[v].op) &&
           !std::holds_alternative<ir::Constant>(program_.values[v].op);
  }

  void AddPair(ValueId operand, ValueId user, const ir::KernelGroup& group, bool is_fused) {
    const bool is_stored = grouping_.in_memory[operand];
    const ValueId made = is_stored && !is_fused ? grouping_.storage[operand] : operand;
    if (!HasKernel(made) || (!is_stored && !is_fused)) return;
    const bool is_epilogue = region_[user] != ir::kNoValue && region_[user] == region_[operand];
    FusionDecision decision;
    decision.is_accepted = is_fused;
    decision.producer = NameOf(made);
    decision.kernel = NameOf(grouping_.storage[group.outputs.front()]);
    decision.consumer = NameOf(user).empty() ? decision.kernel : NameOf(user);
    if (is_fused) {
      decision.rule = is_epilogue ? FusionRule::kEpilogue : FusionRule::kInline;
    } else if (const char* misfit = MisfitOf(operand, user)) {
      decision.rule = FusionRule::kEpilogue;
      decision.reason = misfit;
    } else {
      decision.rule = FusionRule::kInline;
      const char* stored = reasons_.stored[made];
      decision.reason = stored != nullptr ? stored : "another kernel stores it";
    }
    log_.Add(std::move(decision));
  }

  const char* MisfitOf(ValueId operand, ValueId user) const {
    if (region_[operand] == ir::kNoValue) return nullptr;
    const auto found = reasons_.misfit.find({region_[operand], user});
    return found == reasons_.misfit.end() ? nullptr : found->second;
  }

  const ir::Program& program_;
  const ir::Grouping& grouping_;
  const std::vector<ValueId>& region_;
  const GroupReasons& reasons_;
  FusionLog& log_;
};

}  // namespace

void LogGroups(const ir::Program& program, const ir::Grouping& grouping,
               const std::vector<ValueId>& region, const GroupReasons& reasons, FusionLog* log) {
  GroupLogger(program, grouping, region, reasons, log).Run();
}

}  // namespace tartan::graph
