// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/store/stored_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/plan.pb.h"
#include "tile/base/match.h"
#include "tile/plan/gpu/gpu_candidates.h"
#include "tile/plan/select/check_plan.h"
#include "tile/poly/pack.h"
#include "tile/poly/unroll.h"

namespace tartan::plan {
namespace {

// Maximum plans of a search among which a stored one is looked up.
constexpr int kSearched = 64;

bool IsThisGroup(const proto::StoredPlan::Group& stored, const GpuPlan& plan) {
  if (stored.lane_index() != plan.lane_index ||
      stored.buffering() != static_cast<int>(plan.buffering) ||
      stored.splits_size() != static_cast<int>(plan.splits.size())) {
    return false;
  }
  for (int i = 0; i < stored.splits_size(); ++i) {
    const proto::StoredPlan::Split& split = stored.splits(i);
    if (IndexSplit{split.vector(), split.threads(), split.blocks()} != plan.splits[i]) return false;
  }
  return true;
}

// Finds the stored tiled plan among the planner's candidates for the kernel.
std::optional<PlannedKernel> FindGroup(const proto::StoredPlan::Group& stored,
                                       const poly::FlatContraction& merged,
                                       const HardwareSettings& settings) {
  if (settings.threads == 1) return std::nullopt;
  for (PlannedKernel& planned : GpuCandidates(merged, settings, kSearched)) {
    const auto* plan = std::get_if<GpuPlan>(&planned.plan);
    if (plan != nullptr && IsThisGroup(stored, *plan) &&
        stored.is_split() == !planned.packed.empty()) {
      return std::move(planned);
    }
  }
  return std::nullopt;
}

void StoreGroup(const GpuPlan& plan, proto::StoredPlan::Group* stored) {
  for (const IndexSplit& split : plan.splits) {
    proto::StoredPlan::Split* to = stored->add_splits();
    to->set_vector(split.vector);
    to->set_threads(split.threads);
    to->set_blocks(split.blocks);
  }
  stored->set_lane_index(plan.lane_index);
  stored->set_buffering(static_cast<int>(plan.buffering));
}

void StoreTasks(const CpuPlan& plan, proto::StoredPlan* stored) {
  stored->mutable_task()->Add(plan.task.begin(), plan.task.end());
  stored->mutable_unroll()->Add(plan.unroll.begin(), plan.unroll.end());
  stored->mutable_order()->Add(plan.order.begin(), plan.order.end());
  stored->mutable_reduction_order()->Add(plan.reduction_order.begin(), plan.reduction_order.end());
  stored->set_vector_index(plan.vector_index);
  stored->set_lanes(plan.lanes);
  stored->set_threads(plan.threads);
  if (plan.block) {
    proto::StoredPlan::Block* block = stored->mutable_block();
    block->set_level(plan.block->level);
    block->set_chunk_index(plan.block->chunk_index);
    block->set_chunk_length(plan.block->chunk_length);
    block->mutable_staged()->Add(plan.block->staged.begin(), plan.block->staged.end());
  }
  stored->set_masks_lanes(plan.masks_lanes);
}

// Packs the operands that the message names. Returns false if one cannot be packed.
bool Pack(const proto::StoredPlan& stored, const HardwareSettings& settings,
          PlannedKernel* planned) {
  for (const proto::StoredPlan::Packing& packing : stored.packed()) {
    if (!MayPack(planned->flat, packing.access(), packing.index(), packing.block(), settings)) {
      return false;
    }
    poly::PackedKernel packed =
        poly::PackRead(planned->flat, packing.access(), packing.index(), packing.block());
    const ir::ValueId source = planned->flat.tensors[packed.tensor].value;
    planned->packed.push_back({packed.tensor, source, std::move(packed.copy), packing.access(),
                               packing.index(), packing.block()});
    planned->flat = std::move(packed.kernel);
  }
  return true;
}

}  // namespace

std::string KernelForm(const poly::FlatContraction& merged, const std::vector<bool>& is_constant) {
  poly::FlatContraction nameless = merged;
  nameless.name.clear();
  nameless.comments.clear();
  for (size_t i = 0; i < nameless.indices.size(); ++i)
    nameless.indices[i].name = absl::StrCat("i", i);
  for (size_t o = 0; o < nameless.outputs.size(); ++o) {
    nameless.outputs[o].value = static_cast<ir::ValueId>(o);
  }
  std::string form = poly::ToString(nameless);
  for (size_t t = 0; t < merged.tensors.size(); ++t) {
    absl::StrAppend(&form, "  t", t, " ", merged.tensors[t].shape.ToString(),
                    t < is_constant.size() && is_constant[t] ? " constant\n" : "\n");
  }
  absl::StrAppend(&form, "  guards ", merged.store_guard.size(),
                  merged.may_be_empty ? " empty" : "");
  return form;
}

proto::StoredPlan ToProto(const PlannedKernel& planned) {
  proto::StoredPlan stored;
  Match(
      planned.plan,
      [&](const GpuPlan& plan) {
        StoreGroup(plan, stored.mutable_group());
        stored.mutable_group()->set_is_split(!planned.packed.empty());
      },
      [&](const CpuPlan& plan) {
        StoreTasks(plan, &stored);
        stored.set_is_unrolled(planned.is_unrolled);
        for (const PackedOperand& packed : planned.packed) {
          proto::StoredPlan::Packing* packing = stored.add_packed();
          packing->set_access(packed.access);
          packing->set_index(packed.index);
          packing->set_block(packed.block);
        }
      },
      // Only plans of strict float32 are stored. An empty message fits no kernel.
      [](const MatrixPlan&) {},
      // Plans for megakernels are not stored: measured as standalone launches they are slow.
      [](const FewRowsPlan&) {});
  return stored;
}
std::optional<PlannedKernel> FromProto(const proto::StoredPlan& stored,
                                       const poly::FlatContraction& merged,
                                       const HardwareSettings& settings) {
  if (stored.has_group()) return FindGroup(stored.group(), merged, settings);
  PlannedKernel planned;
  planned.flat = merged;
  if (stored.is_unrolled()) {
    if (!poly::CanUnroll(merged)) return std::nullopt;
    planned.flat = poly::Unroll(merged);
    planned.is_unrolled = true;
  }
  if (!Pack(stored, settings, &planned)) return std::nullopt;
  CpuPlan plan;
  plan.task.assign(stored.task().begin(), stored.task().end());
  plan.unroll.assign(stored.unroll().begin(), stored.unroll().end());
  plan.order.assign(stored.order().begin(), stored.order().end());
  plan.reduction_order.assign(stored.reduction_order().begin(), stored.reduction_order().end());
  plan.vector_index = stored.vector_index();
  plan.lanes = stored.lanes();
  plan.threads = stored.threads();
  plan.masks_lanes = stored.masks_lanes();
  if (stored.has_block()) {
    const proto::StoredPlan::Block& block = stored.block();
    plan.block = BlockPlan{block.level(),
                           block.chunk_index(),
                           block.chunk_length(),
                           {block.staged().begin(), block.staged().end()}};
  }
  if (!ReasonInvalid(planned.flat, plan, settings).empty()) return std::nullopt;
  planned.plan = std::move(plan);
  return planned;
}

}  // namespace tartan::plan
