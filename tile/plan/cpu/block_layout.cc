// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/block_layout.h"

#include <algorithm>

#include "tile/math/integer.h"
#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

std::vector<int64_t> StridesOf(const poly::FlatContraction& flat, int access) {
  const poly::TensorAccess& read = flat.accesses[access];
  return poly::Flatten(read.coords, flat.tensors[read.tensor].shape.dims,
                       static_cast<int>(flat.indices.size()))
      .strides;
}

// Values of an index within a tile and K chunk.
int64_t Extent(const poly::FlatContraction& flat, const CpuPlan& plan, int i) {
  if (i < flat.output_index_count) return plan.unroll[i];
  const int64_t range = flat.indices[i].range;
  return i == plan.block->chunk_index ? std::min(plan.block->chunk_length, range) : range;
}

// Returns a layout whose positions within a tile are the `inner` indices, the last varying fastest.
// Tiles vary with those output indices i for which followed[i] holds.
BlockArray Layout(const poly::FlatContraction& flat, const CpuPlan& plan,
                  const std::vector<int>& inner, const std::vector<bool>& followed) {
  BlockArray array;
  array.strides.assign(flat.indices.size(), 0);
  array.tile_strides.assign(flat.output_index_count, 0);
  array.size = 1;
  for (size_t at = inner.size(); at-- > 0;) {
    array.strides[inner[at]] = array.size;
    array.size *= Extent(flat, plan, inner[at]);
  }
  for (size_t level = plan.order.size(); level-- > static_cast<size_t>(plan.block->level);) {
    const int i = plan.order[level];
    const int64_t values = std::min(plan.task[i], flat.indices[i].range);
    if (!followed[i] || values <= plan.unroll[i]) continue;
    array.tile_strides[i] = array.size / plan.unroll[i];
    array.size *= math::CeilDiv(values, plan.unroll[i]);
  }
  return array;
}

bool Reads(const poly::ExprPtr& expr, int access) {
  if (expr == nullptr) return false;
  if (const auto* read = std::get_if<poly::Read>(&expr->node)) return read->access == access;
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  return apply != nullptr &&
         std::any_of(apply->operands.begin(), apply->operands.end(),
                     [&](const poly::ExprPtr& operand) { return Reads(operand, access); });
}

}  // namespace

BlockArray PartialsOf(const poly::FlatContraction& flat, const CpuPlan& plan) {
  std::vector<int> inner;
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (i != plan.vector_index) inner.push_back(i);
  }
  if (plan.vector_index >= 0) inner.push_back(plan.vector_index);
  return Layout(flat, plan, inner, std::vector<bool>(flat.output_index_count, true));
}

int ContiguousRows(const poly::FlatContraction& flat, const CpuPlan& plan, int access) {
  const std::vector<int64_t> strides = StridesOf(flat, access);
  const int v = plan.vector_index;
  if (v < 0 || strides[v] != 0 || strides[plan.reduction_order.back()] == 1) return -1;
  for (int64_t step = 1; step <= kMaxCopiedStep; ++step) {
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (strides[i] == step && plan.unroll[i] > 1) return i;
    }
  }
  return -1;
}

BlockArray StagedOf(const poly::FlatContraction& flat, const CpuPlan& plan, int access) {
  const std::vector<int64_t> strides = StridesOf(flat, access);
  std::vector<bool> followed(flat.output_index_count);
  std::vector<int> inner;
  const int v = plan.vector_index;
  const int neighbours = ContiguousRows(flat, plan, access);
  for (int i = 0; i < flat.output_index_count; ++i) {
    followed[i] = strides[i] != 0;
    if (followed[i] && i != v && i != neighbours) inner.push_back(i);
  }
  std::vector<int> reduced;
  for (int i : plan.reduction_order) {
    if (strides[i] != 0) reduced.push_back(i);
  }
  const int last = v >= 0 && strides[v] != 0 ? v : neighbours;
  inner.insert(last >= 0 ? inner.begin() : inner.end(), reduced.begin(), reduced.end());
  if (last >= 0) inner.push_back(last);
  return Layout(flat, plan, inner, followed);
}

bool IsStaged(const CpuPlan& plan, const CpuKernel::Access& read) {
  return plan.block && read.in_body &&
         std::find(plan.block->staged.begin(), plan.block->staged.end(), read.access) !=
             plan.block->staged.end();
}

bool CanStage(const poly::FlatContraction& flat, int access) {
  const poly::TensorAccess& read = flat.accesses[access];
  const TensorShape& shape = flat.tensors[read.tensor].shape;
  if (!flat.is_reduction() || !read.guard.empty() || shape.type == DataType::kBool ||
      !Reads(flat.body, access)) {
    return false;
  }
  for (size_t d = 0; d < read.coords.size(); ++d) {
    const auto [least, greatest] = poly::ValueRange(read.coords[d], flat.indices);
    if (least < 0 || greatest >= shape.dims[d]) return false;
  }
  const std::vector<int64_t> strides = StridesOf(flat, access);
  bool is_reduced = false;
  int64_t elements = 1;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0) continue;
    is_reduced |= static_cast<int>(i) >= flat.output_index_count;
    elements *= flat.indices[i].range;
  }
  return is_reduced && elements <= shape.element_count() + shape.element_count() / 4;
}

bool CanSplitIntoChunks(const poly::FlatContraction& flat) {
  return flat.is_reduction() && !flat.needs_hits() && flat.accumulator_type != DataType::kBool;
}

int64_t PrivateBytes(const poly::FlatContraction& flat, const CpuPlan& plan) {
  int64_t bytes = 0;
  if (plan.block->chunk_index >= 0) {
    bytes += PartialsOf(flat, plan).size * ByteWidth(flat.accumulator_type);
  }
  for (int access : plan.block->staged) {
    const DataType type = flat.tensors[flat.accesses[access].tensor].shape.type;
    bytes += StagedOf(flat, plan, access).size * ByteWidth(ComputeType(type));
  }
  return bytes;
}

}  // namespace tartan::plan
