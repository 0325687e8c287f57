// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/fuse_launches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Steps of a run that use a value's memory.
struct Use {
  std::vector<size_t> readers;
  std::vector<size_t> writers;
};

class LaunchFusion {
 public:
  LaunchFusion(const ir::Program& program, graph::FusionRule rule, const FuseKernels& join,
               fuse::Judge* judge, Schedule* schedule)
      : program_(program), rule_(rule), join_(join), judge_(*judge), schedule_(*schedule) {}

  void Run() {
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      const StepValues values = ReadAndWritten(program_, schedule_.steps[s]);
      for (ValueId value : values.read) uses_[StorageOf(value)].readers.push_back(s);
      for (ValueId value : values.written) uses_[StorageOf(value)].writers.push_back(s);
      const auto* launch = std::get_if<PlannedLaunch>(&schedule_.steps[s].work);
      if (launch != nullptr) next_form_ = std::max(next_form_, launch->form + 1);
    }
    for (ValueId output : program_.outputs) uses_[StorageOf(output)].readers.push_back(kOutside);
    std::vector<bool> is_gone(schedule_.steps.size(), false);
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (const std::optional<size_t> producer = JoinProducer(s)) is_gone[*producer] = true;
    }
    std::vector<ScheduledStep> left;
    for (size_t s = 0; s < schedule_.steps.size(); ++s) {
      if (!is_gone[s]) left.push_back(std::move(schedule_.steps[s]));
    }
    schedule_.steps = std::move(left);
  }

 private:
  static constexpr size_t kOutside = SIZE_MAX;  // a reader outside the program: the caller

  ValueId StorageOf(ValueId value) const { return schedule_.storage[value]; }

  // Returns the launch of a step that runs at every execution; null for other steps.
  PlannedLaunch* LaunchOf(size_t step) {
    ScheduledStep& scheduled = schedule_.steps[step];
    return scheduled.is_setup ? nullptr : std::get_if<PlannedLaunch>(&scheduled.work);
  }

  // Returns the earlier step that writes `value` only for this step; nothing if there is none.
  std::optional<size_t> OnlyProducer(ValueId value, size_t step) const {
    const auto use = uses_.find(StorageOf(value));
    const std::vector<size_t>& writers = use->second.writers;
    const std::vector<size_t>& readers = use->second.readers;
    if (writers.size() != 1 || writers.front() >= step) return std::nullopt;
    const bool is_alone =
        std::all_of(readers.begin(), readers.end(), [&](size_t s) { return s == step; });
    if (!is_alone) return std::nullopt;
    return writers.front();
  }

  // Fuses a producer into this step, and returns the producer's step, which is now unused.
  std::optional<size_t> JoinProducer(size_t step) {
    PlannedLaunch* launch = LaunchOf(step);
    if (launch == nullptr) return std::nullopt;
    for (const ValueId value : launch->tensors) {
      const std::optional<size_t> producer = OnlyProducer(value, step);
      if (!producer.has_value()) continue;
      const PlannedLaunch* other = LaunchOf(*producer);
      if (other == nullptr || other->outputs.size() != 1) continue;
      if (Join(*other, StorageOf(value), launch)) return producer;
    }
    return std::nullopt;
  }

  // Returns false if the two launches stay separate.
  bool Join(const PlannedLaunch& producer, ValueId result, PlannedLaunch* reader) {
    graph::FusionDecision decision = {.rule = rule_};
    std::optional<plan::PlannedKernel> joined =
        join_(WithValues(*reader), WithValues(producer), result, &decision);
    Log(producer, *reader, joined.has_value(), std::move(decision));
    if (!joined.has_value()) return false;
    reader->tensors.clear();
    for (const poly::Tensor& tensor : joined->flat.tensors) reader->tensors.push_back(tensor.value);
    reader->flops += producer.flops;
    reader->bytes += producer.bytes;
    reader->form = FormOf(producer.form, reader->form, joined->flat);
    reader->planned = *std::move(joined);
    return true;
  }

  void Log(const PlannedLaunch& producer, const PlannedLaunch& reader, bool is_accepted,
           graph::FusionDecision decision) const {
    if (!is_accepted && decision.reason.empty()) return;
    decision.is_accepted = is_accepted;
    decision.producer = schedule_.NameOf(program_, producer.outputs.front());
    decision.consumer = decision.kernel = schedule_.NameOf(program_, reader.outputs.front());
    judge_.Log(std::move(decision));
  }

  // Returns the form of a fused launch. Fused launches of identical layers share a form if both
  // parts have equal forms and the fused kernels have equal form keys.
  int FormOf(int producer, int reader, const poly::FlatContraction& joined) {
    if (producer < 0 || reader < 0) return -1;
    const auto [form, is_new] =
        forms_.try_emplace({producer, reader, poly::FormKey(joined)}, next_form_);
    if (is_new) ++next_form_;
    return form->second;
  }

  // Returns the kernel with each tensor's value replaced by the owner of its memory.
  plan::PlannedKernel WithValues(const PlannedLaunch& launch) const {
    plan::PlannedKernel planned = launch.planned;
    for (size_t t = 0; t < launch.tensors.size(); ++t) {
      planned.flat.tensors[t].value = StorageOf(launch.tensors[t]);
    }
    return planned;
  }

  const ir::Program& program_;
  const graph::FusionRule rule_;
  const FuseKernels& join_;
  fuse::Judge& judge_;
  Schedule& schedule_;
  std::map<ValueId, Use> uses_;
  std::map<std::tuple<int, int, std::string>, int> forms_;  // forms of fused launches
  int next_form_ = 0;
};

}  // namespace

void FuseLaunches(const ir::Program& program, graph::FusionRule rule, const FuseKernels& join,
                  fuse::Judge* judge, Schedule* schedule) {
  LaunchFusion(program, rule, join, judge, schedule).Run();
}

}  // namespace tartan::compiler
