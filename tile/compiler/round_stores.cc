// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/round_stores.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tile/base/match.h"
#include "tile/loop/traverse.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Uses of a value's memory by the steps of a run.
struct Use {
  int writers = 0;
  bool may_round = true;
  // Matrix operands that round this value when they read it.
  std::vector<plan::MatrixOperand*> operands;
  std::vector<size_t> copies;  // steps that copy the value, rounded
};

// Returns true for a step that copies a whole tensor in the same element order, rounded for a
// matrix unit.
bool IsRoundingCopy(const ScheduledStep& step) {
  const auto* launch = std::get_if<PlannedLaunch>(&step.work);
  if (launch == nullptr || step.is_setup || launch->packed == ir::kNoValue) return false;
  const poly::FlatContraction& flat = launch->planned.flat;
  if (flat.accesses.size() != 1 || flat.tensors.size() != 1 || !flat.constraints.empty()) {
    return false;
  }
  const TensorShape& from = flat.tensors.front().shape;
  const TensorShape& to = flat.outputs.front().shape;
  const int count = static_cast<int>(flat.indices.size());
  return from.type == to.type && from.element_count() == to.element_count() &&
         poly::Flatten(flat, 0) == poly::Flatten(flat.output_coords, flat.output_dims, count);
}

// Returns true for a step that rounds the elements of a tensor for a matrix unit while it copies
// them. The copy is the same if its source is rounded already.
bool RoundsWhileCopying(const ScheduledStep& step) {
  const auto* launch = std::get_if<PlannedLaunch>(&step.work);
  if (launch == nullptr || step.is_setup || launch->packed == ir::kNoValue) return false;
  const poly::FlatContraction& flat = launch->planned.flat;
  return flat.accesses.size() == 1 && flat.tensors.size() == 1 && flat.outputs.size() == 1 &&
         !flat.is_reduction() && flat.outputs.front().shape.type == DataType::kFloat32 &&
         !std::holds_alternative<poly::Read>(flat.outputs.front().expr->node);
}

class StoreRounder {
 public:
  StoreRounder(const ir::Program& program, Schedule* schedule)
      : program_(program), schedule_(*schedule) {}

  void Run() {
    for (size_t s = 0; s < schedule_.steps.size(); ++s) AddUses(s);
    for (ValueId output : program_.outputs) Exclude(output);
    std::vector<size_t> needless;  // copies that are no longer needed
    for (auto& [value, use] : uses_) {
      const bool is_read = !use.operands.empty() || !use.copies.empty();
      if (!use.may_round || use.writers != 1 || !is_read) continue;
      for (plan::MatrixOperand* operand : use.operands) operand->is_rounded = false;
      needless.insert(needless.end(), use.copies.begin(), use.copies.end());
      schedule_.rounded.insert(value);
    }
    DropCopies(needless);
    if (!schedule_.rounded.empty()) RenewForms();
  }

 private:
  Use& UseOf(ValueId value) { return uses_[schedule_.storage[value]]; }

  void Exclude(ValueId value) { UseOf(value).may_round = false; }

  void AddUses(size_t number) {
    ScheduledStep* const step = &schedule_.steps[number];
    auto* const launch = std::get_if<PlannedLaunch>(&step->work);
    if (launch != nullptr && IsRoundingCopy(*step)) {
      UseOf(launch->tensors.front()).copies.push_back(number);
      return;
    }
    if (RoundsWhileCopying(*step)) {
      return AddOutput(/*is_setup=*/false, launch->outputs.front(), DataType::kFloat32);
    }
    if (launch != nullptr) return AddLaunch(step->is_setup, launch);
    const StepValues values = ReadAndWritten(program_, *step);
    for (ValueId value : values.read) Exclude(value);
    const bool is_chain = std::holds_alternative<fuse::PlannedChain>(step->work);
    for (ValueId value : values.written) {
      if (is_chain) {
        AddOutput(step->is_setup, value, program_.values[value].shape.type);
      } else {
        Exclude(value);
      }
    }
  }

  void AddOutput(bool is_setup, ValueId value, DataType type) {
    Use& use = UseOf(value);
    ++use.writers;
    use.may_round = use.may_round && !is_setup && type == DataType::kFloat32;
  }

  void AddLaunch(bool is_setup, PlannedLaunch* launch) {
    const poly::FlatContraction& flat = launch->planned.flat;
    for (size_t o = 0; o < launch->outputs.size(); ++o) {
      AddOutput(is_setup, launch->outputs[o], flat.outputs[o].shape.type);
    }
    for (size_t t = 0; t < launch->tensors.size(); ++t) {
      const std::vector<plan::MatrixOperand*> operands = OperandsOf(launch, static_cast<int>(t));
      Use& use = UseOf(launch->tensors[t]);
      use.may_round = use.may_round && !operands.empty();
      for (plan::MatrixOperand* operand : operands) {
        if (operand->is_rounded) use.operands.push_back(operand);
      }
    }
  }

  // Returns the matrix operands that read a tensor and round its elements at the latest in local
  // memory. Returns none if the kernel also reads the tensor in another way.
  static std::vector<plan::MatrixOperand*> OperandsOf(PlannedLaunch* launch, int tensor) {
    auto* matrix = std::get_if<plan::MatrixPlan>(&launch->planned.plan);
    if (matrix == nullptr) return {};
    const std::vector<poly::TensorAccess>& accesses = launch->planned.flat.accesses;
    std::vector<plan::MatrixOperand*> all = {&matrix->left, &matrix->right};
    if (matrix->second) all.push_back(&*matrix->second);
    std::vector<plan::MatrixOperand*> operands;
    for (int a = 0; a < static_cast<int>(accesses.size()); ++a) {
      if (accesses[a].tensor != tensor) continue;
      const auto operand = std::find_if(
          all.begin(), all.end(), [&](plan::MatrixOperand* other) { return other->access == a; });
      if (operand == all.end() || IsReadAfterwards(launch->planned.flat, a)) return {};
      operands.push_back(*operand);
    }
    return operands;
  }

  // Returns true if an epilogue expression reads the access.
  static bool IsReadAfterwards(const poly::FlatContraction& flat, int access) {
    return std::any_of(flat.outputs.begin(), flat.outputs.end(), [&](const poly::Output& output) {
      return poly::FindRead(output.expr, access) != nullptr;
    });
  }

  // Removes the copies and redirects their readers to the sources.
  void DropCopies(const std::vector<size_t>& copies) {
    std::map<ValueId, ValueId> sources;
    for (size_t s : copies) {
      const auto& copy = std::get<PlannedLaunch>(schedule_.steps[s].work);
      sources[copy.outputs.front()] = copy.tensors.front();
    }
    if (sources.empty()) return;
    std::vector<ScheduledStep> kept;
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (std::find(copies.begin(), copies.end(), s) != copies.end()) continue;
      kept.push_back(std::move(schedule_.steps[s]));
      auto* launch = std::get_if<PlannedLaunch>(&kept.back().work);
      if (launch == nullptr) continue;
      for (ValueId& tensor : launch->tensors) {
        if (const auto source = sources.find(tensor); source != sources.end()) {
          tensor = source->second;
        }
      }
    }
    schedule_.steps = std::move(kept);
  }

  // Launches of one form run one kernel, so launches with changed operands need new forms.
  void RenewForms() {
    int next = 0;
    for (const ScheduledStep& step : schedule_.steps) {
      const auto* launch = std::get_if<PlannedLaunch>(&step.work);
      if (launch != nullptr) next = std::max(next, launch->form + 1);
    }
    std::map<std::pair<int, std::vector<bool>>, int> forms;
    for (ScheduledStep& step : schedule_.steps) {
      auto* launch = std::get_if<PlannedLaunch>(&step.work);
      if (launch == nullptr || launch->form < 0) continue;
      std::vector<bool> changed;
      for (ValueId value : launch->outputs) changed.push_back(IsRounded(value));
      for (ValueId value : launch->tensors) changed.push_back(IsRounded(value));
      if (std::find(changed.begin(), changed.end(), true) == changed.end()) continue;
      const auto [form, is_new] = forms.try_emplace({launch->form, changed}, next);
      if (is_new) ++next;
      launch->form = form->second;
    }
  }

  bool IsRounded(ValueId value) const {
    return schedule_.rounded.count(schedule_.storage[value]) > 0;
  }

  const ir::Program& program_;
  Schedule& schedule_;
  std::map<ValueId, Use> uses_;
};

loop::StmtPtr Rounded(const loop::StmtPtr& stmt, const std::string& buffer) {
  const auto* store = std::get_if<loop::Store>(&stmt->node);
  if (store == nullptr) {
    return MapChildren(stmt,
                       Overloaded{[](const loop::ExprPtr& expr) { return expr; },
                                  [&](const loop::StmtPtr& s) { return Rounded(s, buffer); }});
  }
  if (store->buffer != buffer) return stmt;
  loop::Store rounded = *store;
  rounded.rounds_to_tf32 = true;
  return std::make_shared<const loop::Stmt>(loop::Stmt{std::move(rounded)});
}

}  // namespace

void RoundStores(const ir::Program& program, Schedule* schedule) {
  StoreRounder(program, schedule).Run();
}

loop::Kernel WithRoundedStores(loop::Kernel kernel, const std::string& parameter) {
  kernel.body = Rounded(kernel.body, parameter);
  return kernel;
}

}  // namespace tartan::compiler
