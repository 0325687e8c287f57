// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/keep_weights.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "tile/plan/gpu/launch_time.h"
#include "tile/plan/gpu/persistent/persistent_search.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

class Keeper {
 public:
  Keeper(const ir::Program& program, const std::vector<bool>& is_constant,
         const std::vector<ValueId>& storage, const HardwareSettings& settings, Schedule* schedule)
      : program_(program),
        is_constant_(is_constant),
        storage_(storage),
        settings_(settings),
        schedule_(*schedule) {}

  void Run() {
    PlannedLaunch* launch = OnlyLaunch();
    if (launch == nullptr || !MayBeRepeated()) return;
    if (!std::holds_alternative<plan::GpuPlan>(launch->planned.plan)) return;
    std::vector<bool> is_constant;
    for (const ValueId tensor : launch->tensors) is_constant.push_back(IsConstant(tensor));
    std::optional<plan::PlannedKernel> kept = plan::PersistentCandidate(
        launch->planned.flat, settings_, is_constant,
        [&](int tensor, int output) { return IsNext(*launch, tensor, output); });
    if (!kept.has_value() || plan::LaunchMicroseconds(*kept, settings_) >=
                                 plan::LaunchMicroseconds(launch->planned, settings_)) {
      return;
    }
    launch->planned = *std::move(kept);
    launch->form = -1;
  }

 private:
  // The one step of each run; null: there are several, or it is no launch.
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

  bool IsConstant(ValueId value) const {
    return value < schedule_.first_added
               ? is_constant_[value]
               : schedule_.added[value - schedule_.first_added].is_constant;
  }

  bool IsGiven(ValueId value) const {
    return std::holds_alternative<ir::Input>(program_.values[value].op) && !is_constant_[value];
  }

  // What it reads is handed on as a result, and no state of the caller's is written over.
  bool MayBeRepeated() const {
    const bool has_states = std::any_of(
        program_.inputs.begin(), program_.inputs.end(),
        [&](ValueId input) { return std::get<ir::Input>(program_.values[input].op).next >= 0; });
    return !has_states && std::any_of(program_.outputs.begin(), program_.outputs.end(),
                                      [&](ValueId output) { return IsGiven(output); });
  }

  // Whether the program's next run has the launch's output for a tensor. States are in one order as
  // inputs and as outputs, perhaps behind the number of the iteration, or behind what decides about
  // another.
  bool IsNext(const PlannedLaunch& launch, int tensor, int output) const {
    std::vector<ValueId> given;
    for (const ValueId input : program_.inputs) {
      const bool is_number = given.empty() && IsNumber(input, DataType::kInt64);
      if (IsGiven(input) && !is_number) given.push_back(input);
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

  ValueId StorageOf(ValueId value) const {
    return value < schedule_.first_added ? storage_[value] : value;
  }

  const ir::Program& program_;
  const std::vector<bool>& is_constant_;
  const std::vector<ValueId>& storage_;
  const HardwareSettings& settings_;
  Schedule& schedule_;
};

}  // namespace

void KeepWeights(const ir::Program& program, const std::vector<bool>& is_constant,
                 const std::vector<ValueId>& storage, const HardwareSettings& settings,
                 Schedule* schedule) {
  Keeper(program, is_constant, storage, settings, schedule).Run();
}

}  // namespace tartan::compiler
