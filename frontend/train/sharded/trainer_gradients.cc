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

TensorShape FloatsOf(int64_t bytes) { return {DataType::kFloat32, {bytes / 4}}; }

// Makes zeros of a bucket. If gradients accumulate, adds the part of this rank, which the next sums
// include.
absl::Status BeginBucket(hal::Queue& queue, const GradientBucket& bucket, bool accumulates,
                         int64_t rank) {
  const hal::BufferPtr& whole = bucket.tensors.front().buffer();
  const hal::BufferPtr& part = bucket.part.buffer();
  const std::vector<uint8_t> zero(4);
  TARTAN_RETURN_IF_ERROR(queue.Fill(whole, 0, whole->size(), zero));
  if (!accumulates) return absl::OkStatus();
  return queue.Copy(part, 0, whole, rank * part->size(), part->size());
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
  for (size_t b = 0; b < uses.size(); ++b) uses[b].bytes = layout.buckets[b].size;
  const std::vector<evaluator::StateUse> states = made->program->StateUses();
  for (const auto& [state, tensor] : made->gradients) {
    const evaluator::StateUse& use = states[state];
    BucketUse& bucket = uses[layout.bucket_of[tensor]];
    if (use.first == use.last) continue;
    bucket.first = bucket.last == 0 ? use.first : std::min(bucket.first, use.first);
    bucket.last = std::max(bucket.last, use.last);
  }
  if (made->gradients.empty()) uses.clear();
  made->arena = PlanArena(uses, shards->alignment);
  if (!made->gathers.states.empty()) PlaceGathers(made, uses);
}

absl::Status TrainerPrograms::BindBuckets(Program* made) {
  const ShardLayout& layout = shards->layout;
  for (const auto& [state, tensor] : made->gradients) {
    const int64_t place = made->arena.offsets[layout.bucket_of[tensor]] + layout.offsets[tensor];
    TARTAN_ASSIGN_OR_RETURN(
        made->states[state],
        api::DeviceTensor::Within(*device, shards->arena, place, shards->shapes[tensor]));
  }
  made->buckets.clear();
  for (size_t b = 0; b < made->arena.offsets.size(); ++b) {
    GradientBucket& bucket = made->buckets.emplace_back();
    TARTAN_ASSIGN_OR_RETURN(
        bucket.tensors.emplace_back(),
        api::DeviceTensor::Within(*device, shards->arena, made->arena.offsets[b],
                                  FloatsOf(layout.buckets[b].size)));
    bucket.part = shards->parts[b];
  }
  return made->gathers.states.empty() ? absl::OkStatus() : BindGathers(made);
}

absl::Status TrainerPrograms::FitArenas(const Program& more) {
  shards->arena_bytes = std::max(shards->arena_bytes, more.arena.bytes);
  shards->gather_bytes = std::max(shards->gather_bytes, more.gathers.places.bytes);
  const auto is_small = [](const hal::BufferPtr& arena, int64_t bytes) {
    return bytes > 0 && (arena == nullptr || arena->size() < bytes);
  };
  const bool grows = is_small(shards->arena, shards->arena_bytes) ||
                     is_small(shards->gather_arena, shards->gather_bytes);
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
  if (is_small(shards->arena, shards->arena_bytes)) {
    shards->arena = nullptr;
    TARTAN_ASSIGN_OR_RETURN(shards->arena, exchange()->Allocate(*device, shards->arena_bytes));
  }
  if (is_small(shards->gather_arena, shards->gather_bytes)) {
    shards->gather_arena = nullptr;
    TARTAN_ASSIGN_OR_RETURN(shards->gather_arena,
                            exchange()->Allocate(*device, shards->gather_bytes));
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
  for (const ShardLayout::Bucket& bucket : layout.buckets)
    shards->arena_bytes = std::max(shards->arena_bytes, bucket.size);
  if (DividesParameters()) TARTAN_RETURN_IF_ERROR(BeginGathers(nullptr));
  TARTAN_RETURN_IF_ERROR(FitArenas(Program()));
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    if (DividesParameters()) TARTAN_RETURN_IF_ERROR(GatherBeforeSum(b, nullptr));
    GradientBucket bucket;
    TARTAN_ASSIGN_OR_RETURN(
        bucket.tensors.emplace_back(),
        api::DeviceTensor::Within(*device, shards->arena, 0, FloatsOf(layout.buckets[b].size)));
    bucket.part = shards->parts[b];
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
