// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::plan {
namespace {

std::string BlockText(const poly::FlatContraction& flat, const CpuPlan& plan) {
  const BlockPlan& block = *plan.block;
  std::vector<std::string> inside;
  for (size_t level = block.level; level < plan.order.size(); ++level) {
    inside.push_back(flat.indices[plan.order[level]].name);
  }
  std::string text = absl::StrCat(", block [", absl::StrJoin(inside, ", "), "]");
  if (block.chunk_index >= 0) {
    absl::StrAppend(&text, " in K chunks of ", block.chunk_length, " ",
                    flat.indices[block.chunk_index].name);
  }
  for (int access : block.staged) {
    absl::StrAppend(&text, " with in", flat.accesses[access].tensor, " staged");
  }
  return text;
}

}  // namespace

int64_t CpuPlan::TaskCount(const poly::FlatContraction& flat, int i) const {
  return (flat.indices[i].range + task[i] - 1) / task[i];
}

bool CpuPlan::WritesEachElementOnce(const poly::FlatContraction& flat) const {
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (flat.indices[i].range % unroll[i] != 0) return false;
  }
  return true;
}

int64_t CpuPlan::ItemCount(const poly::FlatContraction& flat) const {
  int64_t items = 1;
  for (int i = 0; i < flat.output_index_count; ++i) items *= TaskCount(flat, i);
  return items;
}

std::string CpuPlan::ToString(const poly::FlatContraction& flat) const {
  std::vector<std::string> tasks;
  for (int i : order) {
    tasks.push_back(absl::StrCat(flat.indices[i].name, ": ", task[i], "/", flat.indices[i].range));
  }
  std::vector<std::string> tile;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    if (unroll[i] > 1) tile.push_back(absl::StrCat(unroll[i], " ", flat.indices[i].name));
  }
  std::string text = absl::StrCat("task [", absl::StrJoin(tasks, ", "), "]");
  if (!tile.empty()) absl::StrAppend(&text, ", registers ", absl::StrJoin(tile, " x "));
  if (lanes > 1) {
    absl::StrAppend(&text, ", vectors of ", lanes, " along ", flat.indices[vector_index].name);
  }
  if (masks_lanes) absl::StrAppend(&text, ", lanes masked");
  if (block) absl::StrAppend(&text, BlockText(flat, *this));
  absl::StrAppend(&text, ", ", ItemCount(flat), " work-items in groups of ", threads);
  return text;
}

CpuPlan ScalarPlan(const poly::FlatContraction& flat, int64_t threads) {
  CpuPlan plan;
  plan.task.assign(flat.output_index_count, 1);
  plan.unroll.assign(flat.indices.size(), 1);
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    (i < flat.output_index_count ? plan.order : plan.reduction_order).push_back(i);
  }
  plan.threads = threads;
  return plan;
}

}  // namespace tartan::plan
