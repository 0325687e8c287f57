// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/persistent_rnn.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tile/compiler/launches/share_kernels.h"
#include "tile/compiler/update_in_place.h"
#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

class PersistentRnnPlanner {
 public:
  PersistentRnnPlanner(const ir::Program& program, fuse::Judge* judge, Schedule* schedule)
      : program_(program), judge_(*judge), schedule_(*schedule) {}

  void Run() {
    PlannedLaunch* only = OnlyLaunch();
    if (only != nullptr && std::holds_alternative<plan::GpuPlan>(only->planned.plan) &&
        MayBeRepeated()) {
      return Keep({only}, [&](int tensor, int output) { return IsNext(*only, tensor, output); });
    }
    PlanUnrolledLoops();
  }

 private:
  // Finds consecutive launches that are the steps of an unrolled loop.
  void PlanUnrolledLoops() {
    std::vector<PlannedLaunch*> run;
    for (ScheduledStep& step : schedule_.steps) {
      if (step.is_setup) continue;
      auto* launch = std::get_if<PlannedLaunch>(&step.work);
      if (!run.empty() && (launch == nullptr || !Follows(*run.back(), *launch))) {
        PlanLoop(run);
        run.clear();
      }
      if (launch != nullptr) run.push_back(launch);
    }
    PlanLoop(run);
  }

  // The first launch may need a separate kernel, because it reads at the start of a tensor. So one
  // more launch is required than ShareKernels merges at minimum.
  void PlanLoop(const std::vector<PlannedLaunch*>& run) {
    if (static_cast<int>(run.size()) <= kMinShared) return;
    Keep(run,
         [&](int tensor, int output) { return PassesResult(*run[0], output, *run[1], tensor); });
  }

  // Returns true if the next launch repeats the computation with a result of this launch. Both have
  // the same constants, and equal access patterns except for the offsets.
  bool Follows(const PlannedLaunch& launch, const PlannedLaunch& next) const {
    const bool are_groups = std::holds_alternative<plan::GpuPlan>(launch.planned.plan) &&
                            std::holds_alternative<plan::GpuPlan>(next.planned.plan);
    if (!are_groups || launch.tensors.size() != next.tensors.size()) return false;
    bool passes_result = false;
    for (int t = 0; t < static_cast<int>(next.tensors.size()); ++t) {
      const bool is_same = StorageOf(launch.tensors[t]) == StorageOf(next.tensors[t]);
      if (IsConstant(next.tensors[t]) && !is_same) return false;
      for (int o = 0; o < static_cast<int>(launch.outputs.size()); ++o) {
        passes_result = passes_result || PassesResult(launch, o, next, t);
      }
    }
    return passes_result && launch.copied_bytes == next.copied_bytes &&
           FormWithoutBegins(launch) == FormWithoutBegins(next);
  }

  bool PassesResult(const PlannedLaunch& launch, int output, const PlannedLaunch& next,
                    int tensor) const {
    return StorageOf(launch.outputs[output]) == StorageOf(next.tensors[tensor]);
  }

  static std::string FormWithoutBegins(const PlannedLaunch& launch) {
    poly::FlatContraction flat = launch.planned.flat;
    for (poly::TensorAccess& access : flat.accesses) {
      for (math::Affine& coord : access.coords) coord.constant = 0;
    }
    return poly::FormKey(flat);
  }

  // Gives all launches of a loop one persistent plan, if that is faster.
  void Keep(const std::vector<PlannedLaunch*>& run,
            const std::function<bool(int tensor, int output)>& is_next) {
    const plan::PlannedKernel& planned = run.front()->planned;
    std::vector<bool> is_constant;
    for (const ValueId tensor : run.front()->tensors) is_constant.push_back(IsConstant(tensor));
    std::optional<plan::PlannedKernel> kept;
    if (run.front()->copied_bytes == 0) {
      kept = judge_.PlanPersistent(planned.flat, is_constant, is_next);
    }
    const double separate_us = judge_.LaunchUs(planned);
    const bool is_accepted = kept.has_value() && judge_.LaunchUs(*kept) < separate_us;
    const std::string& last = schedule_.NameOf(program_, run.back()->outputs.front());
    judge_.Log({.rule = graph::FusionRule::kPersistent,
                .is_accepted = is_accepted,
                .producer = schedule_.NameOf(program_, run.front()->outputs.front()),
                .consumer = last,
                .kernel = last,
                .reason = kept.has_value() ? "predicted times of a launch"
                                           : "the weights do not fit the memory of one work-group",
                .fused_us = kept.has_value() ? judge_.LaunchUs(*kept) : 0,
                .separate_us = separate_us});
    if (!is_accepted) return;
    for (PlannedLaunch* launch : run) {
      poly::FlatContraction flat = std::move(launch->planned.flat);
      launch->planned = *kept;
      launch->planned.flat = std::move(flat);
      launch->form = -1;
    }
  }

  // Returns the launch of a program with a single step per execution, else null.
  PlannedLaunch* OnlyLaunch() {
    PlannedLaunch* only = nullptr;
    int steps = 0;
    for (ScheduledStep& step : schedule_.steps) {
      if (step.is_setup) continue;
      ++steps;
      only = std::get_if<PlannedLaunch>(&step.work);
    }
    return steps == 1 ? only : nullptr;
  }

  bool IsConstant(ValueId value) const { return schedule_.is_constant[value]; }

  bool IsRunInput(ValueId value) const {
    return std::holds_alternative<ir::Input>(program_.values[value].op) && !IsConstant(value);
  }

  // Returns true if the program returns an input unchanged and updates no states in place.
  bool MayBeRepeated() const {
    return !HasStates(program_) && std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                               [&](ValueId output) { return IsRunInput(output); });
  }

  // Returns true if the next run of the program reads the launch's output as this tensor.
  // States have the same order among inputs and outputs. The iteration number may precede them
  // among the inputs, and the loop condition among the outputs.
  bool IsNext(const PlannedLaunch& launch, int tensor, int output) const {
    std::vector<ValueId> given;
    for (const ValueId input : program_.inputs) {
      const bool is_number = given.empty() && IsNumber(input, DataType::kInt64);
      if (IsRunInput(input) && !is_number) given.push_back(input);
    }
    const size_t first =
        !program_.outputs.empty() && IsNumber(program_.outputs[0], DataType::kBool) ? 1 : 0;
    for (size_t s = 0; s < given.size() && first + s < program_.outputs.size(); ++s) {
      if (StorageOf(given[s]) != StorageOf(launch.tensors[tensor])) continue;
      return StorageOf(program_.outputs[first + s]) == StorageOf(launch.outputs[output]);
    }
    return false;
  }

  bool IsNumber(ValueId value, DataType type) const {
    const TensorShape& shape = program_.values[value].shape;
    return shape.type == type && shape.dims.empty();
  }

  ValueId StorageOf(ValueId value) const { return schedule_.storage[value]; }

  const ir::Program& program_;
  fuse::Judge& judge_;
  Schedule& schedule_;
};

}  // namespace

void PlanPersistentRnn(const ir::Program& program, fuse::Judge* judge, Schedule* schedule) {
  PersistentRnnPlanner(program, judge, schedule).Run();
}

}  // namespace tartan::compiler
