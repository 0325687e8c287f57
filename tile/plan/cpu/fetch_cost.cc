// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/fetch_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tile/plan/cpu/block_layout.h"

namespace tartan::plan {
namespace {

constexpr double kPagesKnown = 48;  // pages that the first-level TLB holds; empirical
// Cycles per cache line of rows that share L1 sets and are evicted before they are read again;
// empirical.
constexpr double kForgottenLineCycles = 1;
// Cycles per step for each row of single elements beyond kFewRows; empirical.
constexpr double kRowStreamCycles = 0.07;
constexpr double kFewRows = 8;  // rows of single elements that are prefetched; empirical
// Share of a matrix's memory time that is lost when tiles alternate between its panels. The panels
// and prefetched lines evict each other from L2. Empirical.
constexpr double kPanelReloadShare = 0.15;
// Cycles until prefetching resumes after a K chunk leaves a matrix in memory for another part of
// it. Measured on a Zen 5: weights of 2x2x512 pixels in chunks of 5 KiB arrive at 14 GB/s instead
// of 30.
constexpr double kPrefetchRestartCycles = 800;
constexpr double kHidingTiles =
    4;  // tiles per K chunk that hide half of kPrefetchRestartCycles; empirical
constexpr double kNearBytes = 2 << 20;  // bytes of a matrix that may still be in L3; empirical

double TensorBytes(const CpuKernel& kernel, const CpuKernel::Access& access) {
  return ElementCount(kernel.flat, access) * static_cast<double>(access.bytes);
}

// No core hides the latency of memory beyond L3.
cpu::Core CoreFor(const CpuKernel& kernel, const CpuKernel::Access& access) {
  return TensorBytes(kernel, access) > cpu::kL3Bytes ? cpu::Core() : kernel.core;
}

// Bytes of a row that the innermost loop or K chunk reads element by element; 0: the access has
// another stride.
double RowBytes(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access) {
  const int last = plan.reduction_order.back();
  if (access.strides[last] != 1) return 0;
  const bool is_chunk = plan.block && plan.block->chunk_index == last;
  const int64_t steps = is_chunk ? plan.block->chunk_length : kernel.flat.indices[last].range;
  return static_cast<double>(steps * access.bytes);
}

// Returns whether, within a task, consecutive tiles read different panels of a matrix that later
// tiles read again.
bool AlternatesPanels(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read) {
  bool changes = false;
  for (size_t level = plan.order.size(); level-- > 0;) {
    const int i = plan.order[level];
    if (std::min(plan.task[i], kernel.flat.indices[i].range) <= plan.unroll[i]) continue;
    if (read.strides[i] == 0) return changes;
    changes = true;
  }
  return false;
}

// Bytes of the contiguous span that a tile reads of a matrix in one K chunk.
double ChunkBytes(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read) {
  int64_t elements = plan.unroll[plan.vector_index];
  for (size_t level = plan.reduction_order.size(); level-- > 0;) {
    const int i = plan.reduction_order[level];
    if (std::abs(read.strides[i]) != elements) break;
    const bool is_chunk = i == plan.block->chunk_index;
    elements *= is_chunk ? plan.block->chunk_length : kernel.flat.indices[i].range;
    if (is_chunk) break;
  }
  return static_cast<double>(elements * read.bytes);
}

// Number of tiles that read the same part of a matrix in one K chunk.
double TilesOfChunk(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read) {
  double tiles = 1;
  for (size_t level = plan.block->level; level < plan.order.size(); ++level) {
    const int i = plan.order[level];
    const int64_t task = std::min(plan.task[i], kernel.flat.indices[i].range);
    if (read.strides[i] == 0)
      tiles *= std::ceil(static_cast<double>(task) / static_cast<double>(plan.unroll[i]));
  }
  return tiles;
}

}  // namespace

double PageCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access) {
  if (IsStaged(plan, access)) return 0;
  const int last = plan.reduction_order.back();
  const int64_t range = plan.block && plan.block->chunk_index == last
                            ? plan.block->chunk_length
                            : kernel.flat.indices[last].range;
  const double step = static_cast<double>(std::abs(access.strides[last]) * access.bytes);
  if (step * static_cast<double>(range) < cpu::kPageBytes * kPagesKnown) return 0;
  const int v = plan.vector_index;
  double forgotten = 0;
  if (v >= 0 && access.strides[v] == 1 && std::fmod(step, cpu::kWayBytes) == 0) {
    forgotten = static_cast<double>(plan.unroll[v] * access.bytes) / cpu::kLineBytes;
  }
  return std::max(CoreFor(kernel, access).page_cycles * std::min(1.0, step / cpu::kPageBytes),
                  kForgottenLineCycles * forgotten);
}

double StreamCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access) {
  const int v = plan.vector_index;
  if (v < 0 || access.strides[v] > 1 || IsStaged(plan, access)) return 0;
  double rows = 1;
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (i != v && access.strides[i] != 0) rows *= static_cast<double>(plan.unroll[i]);
  }
  if (access.strides[v] == 1) return CoreFor(kernel, access).stream_cycles * (rows - 1);
  const double held = 0.75 * static_cast<double>(kernel.settings.l1_bytes);
  const bool is_held = rows * RowBytes(kernel, plan, access) <= held;
  return is_held ? 0 : kRowStreamCycles * std::max(0.0, rows - kFewRows);
}

bool IsOneStream(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read) {
  const int v = plan.vector_index;
  if (v < 0 || read.access < 0 || plan.reduction_order.empty() || read.strides[v] != 1) {
    return false;
  }
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    if (i != v && read.strides[i] != 0 && plan.unroll[i] > 1) return false;
  }
  return read.strides[plan.reduction_order.back()] == plan.unroll[v];
}

double PrefetchRestartCycles(const CpuKernel& kernel, const CpuPlan& plan) {
  const int v = plan.vector_index;
  if (!plan.block || plan.block->chunk_index < 0 || v < 0) return 0;
  double cycles = 0;
  for (const CpuKernel::Access& read : kernel.reads) {
    const bool has_panels = read.in_body && read.strides[v] == 1 &&
                            read.strides[plan.reduction_order.back()] == plan.unroll[v];
    if (!has_panels || IsStaged(plan, read)) continue;
    const double bytes = TensorBytes(kernel, read);
    if (bytes <= std::max(kNearBytes, static_cast<double>(kernel.settings.l2_bytes))) continue;
    const double span = ChunkBytes(kernel, plan, read);
    // The stall is never longer than the read of the chunk.
    const double wait = std::min(kPrefetchRestartCycles, span / cpu::kMemoryBytesPerCycle);
    cycles +=
        bytes / span * wait * kHidingTiles / (kHidingTiles + TilesOfChunk(kernel, plan, read));
  }
  return cycles;
}

double PanelReloadCycles(const CpuKernel& kernel, const CpuPlan& plan) {
  const int v = plan.vector_index;
  if (v < 0 || v >= kernel.flat.output_index_count) return 0;
  double cycles = 0;
  for (const CpuKernel::Access& read : kernel.reads) {
    if (!read.in_body || read.strides[v] != 1 || IsStaged(plan, read)) continue;
    const double bytes = TensorBytes(kernel, read);
    const bool is_large = bytes > static_cast<double>(kernel.settings.l2_bytes);
    if (is_large && AlternatesPanels(kernel, plan, read)) cycles += kPanelReloadShare * bytes;
  }
  return cycles / cpu::kMemoryBytesPerCycle;
}

}  // namespace tartan::plan
