// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/sum_chunks.h"

#include <algorithm>
#include <optional>

#include "tile/lower/cpu/chunk_factor.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::lower {
namespace {

// Terms per chunk of the shortest kind, for tiles with few accumulators.
constexpr int64_t kFineChunk = 16;
// Terms per chunk of sums shorter than kLongSum.
constexpr int64_t kShortChunk = 64;
// Terms per chunk of sums of kLongSum terms or more.
constexpr int64_t kLongChunk = 128;
constexpr int64_t kLongSum = 4 * kLongChunk;
// terms per chunk that is one loop step: a block of weights with one scale
constexpr int64_t kBlockChunk = 2 * kLongChunk;
// Vector accumulators of a tile up to which chunk accumulators fit the registers beside them.
constexpr int64_t kFewAccumulators = 4;

// Iterations of the plan's loop over `range` values of a reduced index.
int64_t StepsOf(const plan::CpuPlan& plan, int i, int64_t range) {
  return std::max<int64_t>(1, range / std::max<int64_t>(1, plan.unroll[i]));
}

// Steps per chunk, for as few chunks as possible, or up to twice as many if these have equal
// lengths.
int64_t StepsPerChunk(int64_t steps, int64_t longest) {
  if (longest <= 1) return 1;
  const int64_t least = (steps + longest - 1) / longest;
  for (int64_t chunks = least; chunks <= 2 * least && chunks <= steps; ++chunks) {
    if (steps % chunks == 0) return steps / chunks;
  }
  return (steps + least - 1) / least;
}

bool HasFewAccumulators(const poly::FlatContraction& flat, const plan::CpuPlan& plan) {
  int64_t count = 1;
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    if (i < flat.output_index_count || i == plan.vector_index) count *= plan.unroll[i];
  }
  return count <= kFewAccumulators * plan.lanes;
}

// Returns whether adjacent outputs read the same elements at other values of the reduced index, as
// windows do.
bool IsWindow(const poly::FlatContraction& flat, int reduced) {
  const int count = static_cast<int>(flat.indices.size());
  return std::any_of(
      flat.accesses.begin(), flat.accesses.end(), [&](const poly::TensorAccess& access) {
        const std::vector<int64_t> strides =
            poly::Flatten(access.coords, flat.tensors[access.tensor].shape.dims, count).strides;
        for (int i = 0; i < flat.output_index_count; ++i) {
          if (plan::Slides(flat, strides, i, reduced)) return true;
        }
        return false;
      });
}

// The maximum number of terms per chunk for a sum of `all` terms.
int64_t LongestChunk(int64_t all, bool are_few) {
  if (all >= kLongSum) return kLongChunk;
  if (all >= 2 * kShortChunk) return kShortChunk;
  return are_few ? kFineChunk : (all + 1) / 2;
}

}  // namespace

SumChunks ChunkSum(const poly::FlatContraction& flat, const plan::CpuPlan& plan) {
  if (flat.aggregation != Aggregation::kSum || flat.accumulator_type != DataType::kFloat32)
    return {};
  int64_t inside = 1;  // terms per accumulator within a step
  int64_t all = 1;
  for (int i : plan.reduction_order) {
    const bool is_unrolled = plan::IsUnrolled(flat, plan, i);
    if (is_unrolled) inside *= plan.unroll[i];
    all *= is_unrolled ? plan.unroll[i] : StepsOf(plan, i, flat.indices[i].range);
  }
  const bool are_few = HasFewAccumulators(flat, plan);
  if (all < (are_few ? 2 * kFineChunk : kShortChunk)) return {};
  const int64_t longest = LongestChunk(all, are_few);
  const bool is_step = SplitChunkFactor(flat, plan).has_value();
  for (int level = static_cast<int>(plan.reduction_order.size()) - 1; level >= 0; --level) {
    const int i = plan.reduction_order[level];
    if (plan::IsUnrolled(flat, plan, i)) continue;
    const bool is_block_chunk = plan.block && plan.block->chunk_index == i;
    const int64_t steps =
        StepsOf(plan, i, is_block_chunk ? plan.block->chunk_length : flat.indices[i].range);
    // If each step of the outermost loop has a factor of its own, each step is a chunk.
    if (is_step && level == 0 && inside >= kFineChunk) return {.level = 0, .steps = 1};
    // Chunks of the cache block, if not too long. Many short chunks make a longer sum of partial
    // results, which is still shorter than one sum of all terms.
    constexpr int64_t kMinBlockChunk = kFineChunk / 2;
    if (is_block_chunk && level == 0 && steps * inside >= kMinBlockChunk &&
        steps * inside <= kLongChunk) {
      return {.level = level, .steps = steps};
    }
    if (inside * steps <= (level > 0 && is_step ? kBlockChunk : longest)) {
      inside *= steps;
      continue;
    }
    SumChunks chunks;
    chunks.level = level;
    const bool are_halves = all < 2 * kShortChunk && !are_few;
    chunks.steps = are_halves ? (steps + 1) / 2 : StepsPerChunk(steps, longest / inside);
    chunks.are_two =
        chunks.steps < steps && 2 * chunks.steps >= steps && !is_block_chunk && !are_few;
    if (are_halves && !chunks.are_two) return {};
    const int64_t fine = kFineChunk / inside;
    if (are_few && fine > 1 && chunks.steps >= 2 * fine) chunks.fine_steps = fine;
    return chunks;
  }
  return {};
}

SumChunks ChunkSumOfAnySize(const poly::FlatContraction& flat, const plan::CpuPlan& plan) {
  const bool is_float_sum =
      flat.aggregation == Aggregation::kSum && flat.accumulator_type == DataType::kFloat32;
  const bool is_looped =
      !plan.reduction_order.empty() && !plan::IsUnrolled(flat, plan, plan.reduction_order.back());
  if (!is_float_sum) return {};
  const std::optional<ChunkFactor> factor = SplitChunkFactor(flat, plan);
  if (factor && factor->varies_by_chunk) return {.level = 0, .steps = 1};
  if (!is_looped) return {};
  int64_t all = 1;
  for (int i : plan.reduction_order) all *= StepsOf(plan, i, flat.indices[i].range);
  const int innermost = plan.reduction_order.back();
  if (all < 2 * kFineChunk && IsWindow(flat, innermost)) return {};
  SumChunks chunks;
  chunks.level = static_cast<int>(plan.reduction_order.size()) - 1;
  const int64_t steps = StepsOf(plan, innermost, flat.indices[innermost].range);
  // The error is minimal if the chunk length is about the number of chunks.
  int64_t length = kFineChunk;
  while (length < kLongChunk && length * length < all) length *= 2;
  chunks.steps = std::min(length, steps);
  return chunks;
}

}  // namespace tartan::lower
