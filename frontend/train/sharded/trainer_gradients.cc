// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that keeps a rank's part of the gradients. A step adds gradients to buckets
// that use the same memory one after another. As soon as a bucket is complete, its sums over the
// ranks are added to the parts that the ranks keep.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

bool TrainerPrograms::PassesGradients() const { return options.shard == Shard::kGradients; }

void TrainerPrograms::PlaceGradients(Program* made) {
  const ShardLayout& layout = shards->layout;
  std::vector<BucketUse> uses(layout.buckets.size());
  std::vector<size_t> bucket_of(shards->names.size());
  for (size_t b = 0; b < uses.size(); ++b) {
    uses[b].bytes = layout.buckets[b].size;
    for (const size_t t : layout.buckets[b].tensors) bucket_of[t] = b;
  }
  const std::vector<evaluator::StateUse> states = made->program->StateUses();
  for (const auto& [state, tensor] : made->gradients) {
    const evaluator::StateUse& use = states[state];
    BucketUse& bucket = uses[bucket_of[tensor]];
    if (use.first == use.last) continue;
    bucket.first = bucket.last == 0 ? use.first : std::min(bucket.first, use.first);
    bucket.last = std::max(bucket.last, use.last);
  }
  made->arena = PlanArena(uses, shards->alignment);
  shards->arena_bytes = std::max(shards->arena_bytes, made->arena.bytes);
}

absl::Status TrainerPrograms::BindGradients(Program* made) {
  const ShardLayout& layout = shards->layout;
  for (const auto& [state, tensor] : made->gradients) {
    size_t b = 0;
    while (std::count(layout.buckets[b].tensors.begin(), layout.buckets[b].tensors.end(), tensor) ==
           0)
      ++b;
    TARTAN_ASSIGN_OR_RETURN(
        made->states[state],
        api::DeviceTensor::Within(*device, shards->arena,
                                  made->arena.offsets[b] + layout.offsets[tensor],
                                  shards->shapes[tensor]));
  }
  made->buckets.clear();
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    GradientBucket& bucket = made->buckets.emplace_back();
    TARTAN_ASSIGN_OR_RETURN(
        bucket.tensors.emplace_back(),
        api::DeviceTensor::Within(*device, shards->arena, made->arena.offsets[b],
                                  FloatsOf(layout.buckets[b].size)));
    bucket.part = shards->parts[b];
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::GrowArena() {
  if (shards->arena != nullptr && shards->arena->size() >= shards->arena_bytes)
    return absl::OkStatus();
  std::vector<Program*> bound;
  for (auto& [key, step] : steps) {
    if (step.program != nullptr && !step.buckets.empty()) bound.push_back(&step);
  }
  for (Program* step : bound) {
    TARTAN_RETURN_IF_ERROR(step->program->Unbind());
    for (const auto& [state, tensor] : step->gradients) step->states[state] = {};
    step->buckets.clear();
  }
  shards->arena = nullptr;
  TARTAN_ASSIGN_OR_RETURN(shards->arena, exchange()->Allocate(*device, shards->arena_bytes));
  for (Program* step : bound) {
    TARTAN_RETURN_IF_ERROR(BindGradients(step));
    TARTAN_RETURN_IF_ERROR(Bind(step));
  }
  return absl::OkStatus();
}

evaluator::StateHooks TrainerPrograms::HooksOf(const Program& step) {
  evaluator::StateHooks hooks;
  hooks.before = [this, &step](size_t group, hal::Queue& queue) -> absl::Status {
    if (group >= step.buckets.size()) return absl::OkStatus();  // the state kJoined
    for (const size_t earlier : step.arena.after[group]) {
      const hal::EventPtr& reduced = shards->reduced[earlier];
      if (reduced == nullptr) {
        return absl::InternalError(absl::StrCat("bucket ", group, " of gradients begins before ",
                                                "bucket ", earlier, ", whose memory it takes"));
      }
      TARTAN_RETURN_IF_ERROR(reduced->Wait());
    }
    return BeginBucket(queue, step.buckets[group], !plan.replaces_sums, exchange()->rank());
  };
  hooks.after = [this, &step](size_t group, const hal::EventPtr& done) -> absl::Status {
    if (group >= step.buckets.size()) return absl::OkStatus();
    shards->computed[group] = done;
    // The ranks add buckets in one order, whatever the order of their programs.
    for (size_t& next = shards->next; next < shards->computed.size(); ++next) {
      if (shards->computed[next] == nullptr) break;
      GradientBucket bucket = step.buckets[next];
      bucket.computed = shards->computed[next];
      TARTAN_ASSIGN_OR_RETURN(shards->reduced[next], exchange()->StartSum(bucket));
    }
    return absl::OkStatus();
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
  const ShardLayout& layout = shards->layout;
  for (const ShardLayout::Bucket& bucket : layout.buckets)
    shards->arena_bytes = std::max(shards->arena_bytes, bucket.size);
  TARTAN_RETURN_IF_ERROR(GrowArena());
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
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
  }
  return absl::OkStatus();
}

}  // namespace tartan::train
