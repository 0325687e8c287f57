// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that applies gradients of several ranks.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "frontend/api/device_queue.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/update_spans.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

bool TrainerPrograms::UpdatesEarly() const {
  // Not measured on GPUs, whose hosts enqueue the next step while the update runs.
  if (device->info().type != hal::DeviceType::kCpu) return false;
  const bool needs_all_sums = plan.clip_norm > 0 || plan.loss_scale.has_value();
  return plan.replaces_sums && !plan.shards && !needs_all_sums && JoinsParameters(plan.optimizer) &&
         exchange()->bucket_bytes() < std::numeric_limits<int64_t>::max();
}

absl::Status TrainerPrograms::MakeUpdate() {
  if (plan.joins) TARTAN_RETURN_IF_ERROR(plan.shards ? MakeShards() : MakeJoinedSums());
  const std::vector<Parameter>& whole = updated.empty() ? parameters : updated;
  TARTAN_ASSIGN_OR_RETURN(StepGraph graph,
                          BuildApply(plan.shards ? shards->segments : whole, plan));
  const std::vector<StateSpec> specs = graph.specs;
  TARTAN_ASSIGN_OR_RETURN(apply, Make(std::move(graph), kUpdateName));
  return apply.queue == nullptr ? absl::OkStatus() : WatchUpdate(specs);
}

absl::Status TrainerPrograms::WatchUpdate(absl::Span<const StateSpec> specs) {
  std::vector<std::string> kinds = SlotNames(plan.optimizer);
  kinds.insert(kinds.end(), {"gradient", "parameter"});
  // The first bucket has the weights of the batches; then follow the buckets of each span.
  std::vector<evaluator::StateGroup> groups(1 + updated.size());
  for (size_t s = 0; s < specs.size(); ++s) {
    if (specs[s].name == kJoined) groups[0].states.push_back(s);
    for (size_t u = 0; u < updated.size(); ++u) {
      const bool is_of_span = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
        return specs[s].name == StateName(kind, updated[u].name);
      });
      if (is_of_span) groups[1 + u].states.push_back(s);
    }
  }
  evaluator::StateHooks hooks;
  hooks.before = [this](size_t group, hal::Queue&) {
    return exchange()->WaitForSum(group == 0 ? 0 : last_buckets[group - 1]);
  };
  hooks.after = [this](size_t group, const hal::EventPtr& done) {
    return group == 0 ? absl::OkStatus() : exchange()->TraceUpdate(done);
  };
  return apply.program->WatchStates(std::move(groups), std::move(hooks));
}

absl::Status TrainerPrograms::Update(double rate, const Program* step) {
  if (apply.program == nullptr) TARTAN_RETURN_IF_ERROR(MakeUpdate());
  if (options.profile && !plan.shards) {
    if (plan.joins) TARTAN_RETURN_IF_ERROR(AddOverRanks(step));
    if (apply.queue != nullptr) TARTAN_RETURN_IF_ERROR(exchange()->FinishSums());
    TARTAN_ASSIGN_OR_RETURN(auto kernels, apply.program->Profile({Numbers(rate)}));
    profile.AddUpdate(std::move(kernels));
    return absl::OkStatus();
  }
  if (apply.queue == nullptr) {
    if (plan.joins) TARTAN_RETURN_IF_ERROR(AddOverRanks(step));
    return plan.shards ? ApplyShard(rate) : apply.program->Start({Numbers(rate)});
  }
  TARTAN_RETURN_IF_ERROR(AddOverRanks(step));
  TARTAN_RETURN_IF_ERROR(apply.program->Start({Numbers(rate)}));
  TARTAN_RETURN_IF_ERROR(exchange()->FinishSums());
  // The next step is in another queue.
  return apply.queue->Finish();
}

}  // namespace tartan::train
