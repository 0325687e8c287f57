// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that keeps a rank's part of the parameters. A program gathers buckets of
// whole parameters before it uses them, in memory that they use one after another.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

bool TrainerPrograms::DividesParameters() const { return options.shard == Shard::kParameters; }

void TrainerPrograms::Program::ForgetBuckets() {
  for (const auto* used : {&gradients, &gathers.states}) {
    for (const auto& [state, tensor] : *used) states[state] = {};
  }
  buckets.clear();
  gathers.buckets.clear();
}

void TrainerPrograms::PlaceGathers(Program* made, absl::Span<const BucketUse> gradients) {
  const ShardLayout& layout = shards->layout;
  const std::vector<evaluator::StateUse> states = made->program->StateUses();
  std::vector<std::set<int64_t>> used(layout.buckets.size());
  for (const auto& [state, tensor] : made->gathers.states) {
    const std::vector<int64_t>& steps = states[state].steps;
    used[layout.bucket_of[tensor]].insert(steps.begin(), steps.end());
  }
  std::vector<std::vector<int64_t>> steps;
  for (const std::set<int64_t>& of_bucket : used)
    steps.emplace_back(of_bucket.begin(), of_bucket.end());
  made->gathers.needs = NeedsOf(steps, shards->BytesInTurn(shards->parameter_buckets), gradients);
  PlaceInOrder(OrderOf(made->gathers.needs), &made->gathers);
}

void TrainerPrograms::PlaceInOrder(GatherOrder order, GatherPlan* gathers) {
  gathers->order = std::move(order);
  gathers->places = PlaceParameters(gathers->needs, gathers->order);
}

absl::Status TrainerPrograms::BindGathers(Program* made) {
  const BucketMemory& memory = shards->parameter_buckets;
  GatherPlan& gathers = made->gathers;
  TARTAN_RETURN_IF_ERROR(BindStates(gathers.states, memory, gathers.places, made));
  gathers.buckets.clear();
  for (size_t b = 0; b < shards->layout.buckets.size(); ++b)
    gathers.buckets.push_back({memory.Of(b, gathers.places), 0, shards->layout.buckets[b].size});
  return absl::OkStatus();
}

std::vector<evaluator::StateGroup> TrainerPrograms::GroupsOf(const GatherPlan& gathers) const {
  const ShardLayout& layout = shards->layout;
  std::vector<evaluator::StateGroup> groups;
  for (size_t g = 0; g < gathers.needs.uses.size(); ++g) {
    const BucketUse& use = gathers.needs.uses[g];
    evaluator::StateGroup& group = groups.emplace_back();
    group.first = use.first;
    group.last = use.last;
    for (const auto& [state, tensor] : gathers.states) {
      if (layout.bucket_of[tensor] == gathers.needs.BucketOf(g)) group.states.push_back(state);
    }
  }
  return groups;
}

absl::Status TrainerPrograms::BeginGathers(Program* program) {
  const size_t buckets = shards->layout.buckets.size();
  const GatherOrder own =
      program == nullptr ? GatherOrder(3 * buckets) : OrderOf(program->gathers.needs);
  const size_t bytes = own.size() * sizeof(own[0]);
  std::vector<GatherOrder::value_type> all(own.size() * exchange()->ranks());
  TARTAN_RETURN_IF_ERROR(exchange()->GatherBytes(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(own.data()), bytes),
      absl::MakeSpan(reinterpret_cast<uint8_t*>(all.data()), bytes * exchange()->ranks())));
  GatherOrder order(own.size());
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t& most = order[i % own.size()];
    most = std::max(most, all[i]);
  }
  if (program == nullptr) {
    shards->parameter_buckets.Need(shards->PlacesOneByOne(shards->parameter_buckets));
  } else if (program->gathers.order != order) {
    TARTAN_RETURN_IF_ERROR(program->program->Unbind());
    program->ForgetBuckets();
    PlaceInOrder(order, &program->gathers);
    TARTAN_RETURN_IF_ERROR(FitArenas(*program));
  }
  shards->order = std::move(order);
  shards->gathered.assign(2 * buckets, nullptr);
  shards->next_gather = 0;
  TARTAN_ASSIGN_OR_RETURN(shards->last_use, device->queue()->Mark());
  return absl::OkStatus();
}

absl::Status TrainerPrograms::StartWithGathers(Program& program,
                                               const std::vector<HostTensor>& values) {
  TARTAN_RETURN_IF_ERROR(BeginGathers(&program));
  TARTAN_RETURN_IF_ERROR(program.program->Start(values));
  return GatherUntil(shards->gathered.size(), &program.gathers);
}

MemoryRange TrainerPrograms::AnyPlaceOf(size_t bucket) const {
  const BucketMemory& memory = shards->parameter_buckets;
  return {memory.Of(bucket, shards->PlacesOneByOne(memory)), 0,
          shards->layout.buckets[bucket].size};
}

absl::Status TrainerPrograms::GatherUntil(size_t end, const GatherPlan* gathers) {
  const size_t buckets = shards->layout.buckets.size();
  for (size_t& next = shards->next_gather; next < end; ++next) {
    if (shards->order[next] == 0) continue;  // no rank needs it
    const bool has_sums = shards->order.size() > 2 * buckets && shards->next < buckets;
    if (has_sums && shards->order[2 * buckets + shards->next] <= static_cast<int64_t>(next)) {
      return absl::InternalError(absl::StrCat("bucket ", shards->next, " of gradients is not ",
                                              "computed before gather ", next));
    }
    const size_t b = next < buckets ? buckets - 1 - next : next - buckets;
    GradientBucket bucket;
    bucket.part = shards->PartOf(shards->parameter_memory, b);
    bucket.computed = shards->last_use;
    bucket.whole = gathers != nullptr ? gathers->buckets[b] : AnyPlaceOf(b);
    TARTAN_ASSIGN_OR_RETURN(shards->gathered[next], exchange()->StartGather(bucket));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::WaitForGather(size_t gather, const GatherPlan& gathers) {
  if (!gathers.needs.IsUsed(gather)) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(GatherUntil(gather + 1, &gathers));
  TARTAN_RETURN_IF_ERROR(shards->gathered[gather]->Wait());
  size_t next = gather + 1;
  while (next < gathers.needs.uses.size() && !gathers.needs.IsUsed(next)) ++next;
  return next < gathers.needs.uses.size() ? GatherUntil(next + 1, &gathers) : absl::OkStatus();
}

absl::Status TrainerPrograms::GatherBeforeSum(size_t bucket, const GatherPlan* gathers) {
  const size_t place = 2 * shards->layout.buckets.size() + bucket;
  return GatherUntil(static_cast<size_t>(shards->order[place]), gathers);
}

}  // namespace tartan::train
