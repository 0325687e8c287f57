// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_blocks.h"

#include <algorithm>

#include "tile/math/integer.h"
#include "tile/plan/cpu/block_layout.h"

namespace tartan::plan {
namespace {

// Reduction steps per K chunk to try. A chunk should be long enough to hide the loads and stores of
// partial results, and short enough that its operands stay in L1.
constexpr int64_t kStepsInChunk[] = {256, 512};

// Returns whether elements are read more than once, so that staging or blocking can pay.
bool IsReused(const poly::FlatContraction& flat, int access) {
  const poly::Tensor& tensor = flat.tensors[flat.accesses[access].tensor];
  return flat.point_count() >= 2 * tensor.shape.element_count();
}

void AddChunk(BlockChoices::Chunk chunk, std::vector<BlockChoices::Chunk>* chunks) {
  const bool known =
      std::any_of(chunks->begin(), chunks->end(), [&](const BlockChoices::Chunk& other) {
        return other.index == chunk.index && other.length == chunk.length;
      });
  if (!known) chunks->push_back(chunk);
}

}  // namespace

BlockChoices::BlockChoices(const poly::FlatContraction& flat) : chunks(1), staged(1) {
  const int first = flat.output_index_count;
  int64_t steps = 1;
  for (size_t i = first; i < flat.indices.size(); ++i) steps *= flat.indices[i].range;
  const auto count = static_cast<int>(flat.accesses.size());
  std::vector<int> reused;
  for (int access = 0; access < count; ++access) {
    if (IsReused(flat, access)) reused.push_back(access);
  }
  if (steps == 0 || reused.empty()) return;
  for (size_t i = first; CanSplitIntoChunks(flat) && i < flat.indices.size(); ++i) {
    const int64_t range = flat.indices[i].range;
    for (int64_t wanted : kStepsInChunk) {
      const int64_t others = steps / std::max<int64_t>(range, 1);
      const int64_t parts = math::CeilDiv(range, std::max<int64_t>(wanted / others, 1));
      int64_t length = math::CeilDiv(range, parts);
      if (length > 16) length = math::CeilDiv(length, 8) * 8;
      const bool is_short = length * others > 2 * wanted || (length < 16 && length > 4);
      if (length < range && !is_short) AddChunk({static_cast<int>(i), length}, &chunks);
    }
  }
  std::vector<int> stageable;
  for (int access : reused) {
    if (CanStage(flat, access)) stageable.push_back(access);
  }
  for (int access : stageable) staged.push_back({access});
  if (stageable.size() == 2) staged.push_back(stageable);
}

void TryBlocks(const CpuKernel& kernel, const BlockChoices& choices, CpuPlan plan,
               const std::function<void(const CpuPlan&)>& consider) {
  const poly::FlatContraction& flat = kernel.flat;
  int loops = 0;
  for (int i : plan.order) loops += flat.indices[i].range > plan.unroll[i];
  // The block has all loops, or only the inner ones.
  for (int level : {0, std::max(1, loops - 2)}) {
    if (level >= loops) continue;
    for (const BlockChoices::Chunk& chunk : choices.chunks) {
      for (const std::vector<int>& staged : choices.staged) {
        if (chunk.index < 0 && staged.empty()) continue;
        plan.block = BlockPlan{level, chunk.index, chunk.length, staged};
        consider(plan);
      }
    }
  }
}

}  // namespace tartan::plan
