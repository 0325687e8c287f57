// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that keeps a rank's part of the gradients. A step adds gradients to buckets
// that use the same memory one after another. As soon as a bucket is complete, its sums over the
// ranks are added to the parts that the ranks keep.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Makes zeros of a bucket. If gradients accumulate, adds the part of this rank, which the next sums
// include.
absl::Status BeginBucket(hal::Queue& queue, const GradientBucket& bucket, bool accumulates,
                         int64_t rank) {
  const MemoryRange& whole = bucket.whole;
  const MemoryRange& part = bucket.part;
  const std::vector<uint8_t> zero(4);
  TARTAN_RETURN_IF_ERROR(queue.Fill(whole.buffer, whole.offset, whole.bytes, zero));
  if (!accumulates) return absl::OkStatus();
  return queue.Copy(part.buffer, part.offset, whole.buffer, whole.offset + rank * part.bytes,
                    part.bytes);
}

}  // namespace

bool TrainerPrograms::PassesGradients() const { return options.shard >= Shard::kGradients; }

bool TrainerPrograms::AddToBuckets(absl::string_view state, Program* made) const {
  if (!PassesGradients()) return false;
  const bool is_gradient = absl::ConsumePrefix(&state, "gradient/");
  if (!is_gradient && !(DividesParameters() && absl::ConsumePrefix(&state, kParameterState)))
    return false;
  const auto tensor = std::find(shards->names.begin(), shards->names.end(), state);
  if (tensor == shards->names.end()) return false;
  (is_gradient ? made->gradients : made->gathers.states)
      .emplace_back(made->states.size(), tensor - shards->names.begin());
  made->states.emplace_back();
  return true;
}

void TrainerPrograms::PlaceBuckets(Program* made) {
  const ShardLayout& layout = shards->layout;
  std::vector<BucketUse> uses(layout.buckets.size());
  const std::vector<int64_t> bytes = shards->BytesInTurn(shards->gradient_buckets);
  for (size_t b = 0; b < uses.size(); ++b) uses[b].bytes = bytes[b];
  const std::vector<evaluator::StateUse> states = made->program->StateUses();
  for (const auto& [state, tensor] : made->gradients) {
    const evaluator::StateUse& use = states[state];
    BucketUse& bucket = uses[layout.bucket_of[tensor]];
    if (use.first == use.last) continue;
    bucket.first = bucket.last == 0 ? use.first : std::min(bucket.first, use.first);
    bucket.last = std::max(bucket.last, use.last);
  }
  if (made->gradients.empty()) uses.clear();
  made->arena = PlanArena(uses);
  if (!made->gathers.states.empty()) PlaceGathers(made, uses);
}

absl::Status TrainerPrograms::BindStates(absl::Span<const std::pair<size_t, size_t>> states,
                                         const BucketMemory& memory, const MemoryPlaces& places,
                                         Program* made) {
  const ShardLayout& layout = shards->layout;
  for (const auto& [state, tensor] : states) {
    const size_t bucket = layout.bucket_of[tensor];
    const hal::BufferPtr& buffer = memory.Of(bucket, places);
    const TensorShape& shape = shards->shapes[tensor];
    if (layout.buckets[bucket].tensors.size() == 1) {
      made->states[state] = api::DeviceTensor::At(*device, buffer, shape);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(
        made->states[state],
        api::DeviceTensor::Within(*device, buffer, layout.offsets[tensor], shape));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::BindBuckets(Program* made) {
  const BucketMemory& memory = shards->gradient_buckets;
  const MemoryPlaces& places = made->arena.places;
  TARTAN_RETURN_IF_ERROR(BindStates(made->gradients, memory, places, made));
  made->buckets.clear();
  for (size_t b = 0; b < places.slots.size(); ++b) {
    GradientBucket& bucket = made->buckets.emplace_back();
    bucket.whole = {memory.Of(b, places), 0, shards->layout.buckets[b].size};
    bucket.part = shards->PartOf(shards->gradient_memory, b);
  }
  return made->gathers.states.empty() ? absl::OkStatus() : BindGathers(made);
}

absl::Status TrainerPrograms::FitArenas(const Program& more) {
  shards->gradient_buckets.Need(more.arena.places);
  shards->parameter_buckets.Need(more.gathers.places);
  const bool grows =
      shards->gradient_buckets.IsTooSmall() || shards->parameter_buckets.IsTooSmall();
  std::vector<Program*> unbound;
  for (auto* programs : {&steps, &evaluations}) {
    for (auto& [key, program] : *programs) {
      if (program.program == nullptr || !program.HasBuckets()) continue;
      if (!grows && program.IsBound()) continue;
      TARTAN_RETURN_IF_ERROR(program.program->Unbind());
      program.ForgetBuckets();
      unbound.push_back(&program);
    }
  }
  for (BucketMemory* memory : {&shards->gradient_buckets, &shards->parameter_buckets}) {
    memory->slots.resize(memory->sizes.size());
    for (size_t slot = 0; slot < memory->slots.size(); ++slot) {
      if (!memory->IsSmall(slot)) continue;
      memory->slots[slot] = nullptr;
      TARTAN_ASSIGN_OR_RETURN(memory->slots[slot], AllocateZeros(memory->sizes[slot]));
    }
  }
  for (Program* program : unbound) {
    TARTAN_RETURN_IF_ERROR(BindBuckets(program));
    TARTAN_RETURN_IF_ERROR(Bind(program));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::BeginSum(size_t bucket, const Program& step, hal::Queue& queue) {
  for (const size_t earlier : step.arena.after[bucket]) {
    const hal::EventPtr& reduced = shards->reduced[earlier];
    if (reduced == nullptr) {
      return absl::InternalError(absl::StrCat("bucket ", bucket, " of gradients begins before ",
                                              "bucket ", earlier, ", whose memory it takes"));
    }
    TARTAN_RETURN_IF_ERROR(reduced->Wait());
  }
  return BeginBucket(queue, step.buckets[bucket], !plan.replaces_sums, exchange()->rank());
}

absl::Status TrainerPrograms::StartReductions(const Program& step) {
  // The ranks add buckets in one order, whatever the order of their programs.
  for (size_t& next = shards->next; next < shards->computed.size(); ++next) {
    if (shards->computed[next] == nullptr) break;
    if (DividesParameters()) TARTAN_RETURN_IF_ERROR(GatherBeforeSum(next, &step.gathers));
    GradientBucket bucket = step.buckets[next];
    bucket.computed = shards->computed[next];
    TARTAN_ASSIGN_OR_RETURN(shards->reduced[next], exchange()->StartSum(bucket));
  }
  return absl::OkStatus();
}

evaluator::StateHooks TrainerPrograms::HooksOf(const Program& step) {
  evaluator::StateHooks hooks;
  // Groups are gathers, then buckets of gradients, then the state kJoined.
  hooks.before = [this, &step](size_t group, hal::Queue& queue) -> absl::Status {
    const size_t gathers = step.gathers.needs.uses.size();
    if (group < gathers) return WaitForGather(group, step.gathers);
    group -= gathers;
    return group < step.buckets.size() ? BeginSum(group, step, queue) : absl::OkStatus();
  };
  hooks.after = [this, &step](size_t group, const hal::EventPtr& done) -> absl::Status {
    const size_t gathers = step.gathers.needs.uses.size();
    if (group < gathers) {
      if (step.gathers.needs.IsUsed(group)) shards->last_use = done;
      return absl::OkStatus();
    }
    group -= gathers;
    if (group >= step.buckets.size()) return absl::OkStatus();
    shards->computed[group] = done;
    return StartReductions(step);
  };
  return hooks;
}

absl::Status TrainerPrograms::FinishReductions() {
  for (const hal::EventPtr& event : shards->reduced) {
    if (event != nullptr) TARTAN_RETURN_IF_ERROR(event->Wait());
  }
  const size_t count = shards->layout.buckets.size();
  shards->computed.assign(count, nullptr);
  shards->reduced.assign(count, nullptr);
  shards->next = 0;
  return absl::OkStatus();
}

absl::Status TrainerPrograms::ReduceWithoutExamples() {
  TARTAN_RETURN_IF_ERROR(MakeShards());
  const ShardLayout& layout = shards->layout;
  if (DividesParameters()) TARTAN_RETURN_IF_ERROR(BeginGathers(nullptr));
  Program none;
  none.arena.places = shards->PlacesOneByOne(shards->gradient_buckets);
  TARTAN_RETURN_IF_ERROR(FitArenas(none));
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    if (DividesParameters()) TARTAN_RETURN_IF_ERROR(GatherBeforeSum(b, nullptr));
    GradientBucket bucket;
    bucket.whole = {shards->gradient_buckets.Of(b, none.arena.places), 0, layout.buckets[b].size};
    bucket.part = shards->PartOf(shards->gradient_memory, b);
    TARTAN_RETURN_IF_ERROR(device->queue()->Enqueue([&](hal::Queue& queue) {
      return BeginBucket(queue, bucket, !plan.replaces_sums, exchange()->rank());
    }));
    TARTAN_ASSIGN_OR_RETURN(bucket.computed, device->queue()->Mark());
    TARTAN_ASSIGN_OR_RETURN(const hal::EventPtr reduced, exchange()->StartSum(bucket));
    TARTAN_RETURN_IF_ERROR(reduced->Wait());
    shards->next = b + 1;
  }
  return DividesParameters() ? GatherUntil(2 * layout.buckets.size(), nullptr) : absl::OkStatus();
}

}  // namespace tartan::train
