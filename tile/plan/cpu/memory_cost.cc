// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/memory_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/fetch_cost.h"

namespace tartan::plan {
namespace {

// Constants of copies into private memory and of stores. All are empirical.
constexpr double kCopiedElement = 3;  // cycles to copy one element
constexpr double kCopiedVector = 4;   // cycles to copy one vector
// Cycles to copy one of several elements that are contiguous in tensor and copy.
constexpr double kCopiedNeighbour = 0.7;
// Stall cycles for a cache line in a page other than the last one's.
constexpr double kFarLine = 24;
constexpr double kNearLine = 6;    // stall cycles for a distant cache line in the same page
constexpr double kStoredPage = 3;  // cycles per additional page that a tile's stores touch
// Cycles per cache line of a tile stored into a page other than the last tile's.
constexpr double kStoredFarLine = 1.5;
// Cycles to save and restore a tile's accumulators between K chunks: branches that are hard to
// predict. Empirical.
constexpr double kResumeCycles = 16;
constexpr double kLineInL1 = 1;    // cycles per line of partial results in L1; empirical
constexpr double kLineInL2 = 1.5;  // cycles per line of partial results in L2; empirical
constexpr double kLineBeyond = 4;  // cycles per line of partial results beyond L2; empirical

// Factor by which distant cache lines arrive slower than contiguous, prefetched ones; empirical.
constexpr double kScatteredLines = 2.5;
// Refined model for kernels that read each element once, in vectors: the factor is 1 +
// kScatteredSpanCost divided by the bytes of a contiguous span. Empirical.
constexpr double kScatteredSpanCost = 96;
// Bytes, minimum contiguous span of a read that is prefetched.
constexpr double kScatteredSpanBytes = 256;
constexpr double kScatteredStoreBytes = 1024;  // the same for a store, which first fetches its line

double CeilDiv(int64_t a, int64_t b) { return static_cast<double>((a + b - 1) / b); }

struct Touched {
  double bytes = 0;  // bytes of cache lines
  // Bytes that the data occupies in L1 and in L2, with the sets that conflicts leave unused.
  std::array<double, 2> held = {0, 0};
  double moved = 0;  // bytes of cache lines, weighted by their slowness
  double saved = 0;  // bytes of `moved` that a prefetched single stream saves
};

// Returns the data that an access touches while each index has the given extent.
Touched Footprint(const CpuKernel::Access& access, const std::vector<int64_t>& extent,
                  double line_bytes, const std::array<double, 2>& cache_bytes,
                  double scattered_below = kScatteredSpanBytes) {
  double span = 1;  // elements of a contiguous span
  double spans = 1;
  int64_t apart = cpu::kWayBytes;  // common divisor of the spans' distances, bytes
  for (const int i : access.by_stride) {
    if (extent[i] <= 1) continue;
    const int64_t step = std::abs(access.strides[i]);
    const double stride = static_cast<double>(step);
    // A stride of up to one cache line touches every line.
    const double gap_free = std::max(span, line_bytes / static_cast<double>(access.bytes));
    if (stride <= gap_free && spans == 1) {
      span += stride * static_cast<double>(extent[i] - 1);
    } else {
      spans *= static_cast<double>(extent[i]);
      apart = std::gcd(apart, step * access.bytes);
    }
  }
  double bytes = span * static_cast<double>(access.bytes);
  if (spans > 1) bytes = std::ceil(bytes / line_bytes) * line_bytes;
  const bool scattered = spans > 8 && bytes < scattered_below;
  Touched touched = {spans * bytes, {}, spans * bytes * (scattered ? kScatteredLines : 1)};
  // Conflicts matter if there are more spans than the sets that they share can hold.
  const double spread = spans * std::max(bytes, static_cast<double>(apart));
  for (size_t cache = 0; cache < 2; ++cache) {
    touched.held[cache] = spans > 1 && spread > cache_bytes[cache] ? spread : spans * bytes;
  }
  return touched;
}

// Usable bytes of L1 and L2, which a core may share with another hardware thread.
std::array<double, 2> UsableBytes(const HardwareSettings& settings) {
  return {0.75 * static_cast<double>(settings.l1_bytes),
          0.5 * static_cast<double>(settings.l2_bytes)};
}

// A kernel's loop nest from the inside out: a tile with its reduction, the loops of a task, the
// tasks. Inside the plan's cache block, staged copies and partial results replace the tensors.
class Nest {
 public:
  Nest(const CpuKernel& kernel, const CpuPlan& plan) : kernel_(kernel), plan_(plan) {
    extent_ = plan.unroll;
    for (size_t i = kernel.flat.output_index_count; i < extent_.size(); ++i) {
      extent_[i] = kernel.flat.indices[i].range;
    }
    if (plan.block) {
      if (HasChunks()) extent_[plan.block->chunk_index] = plan.block->chunk_length;
      in_block_ = true;
    }
    touched_.resize(kernel.reads.size() + kernel.writes.size());
    Touch(-1);
    for (size_t r = 0; r < kernel.reads.size(); ++r) {
      const CpuKernel::Access& read = kernel.reads[r];
      const bool scattered = kernel.flat.is_reduction() && read.in_body && kernel.windows.empty() &&
                             touched_[r].moved > touched_[r].bytes;
      slowness_.push_back(scattered ? Slowness(read) : 1);
      saved_.push_back(IsOneStream(kernel, plan, read) ? SavedByStream() : 0);
    }
    levels_.push_back({Footprints(), 1});
    for (size_t level = plan.order.size(); level-- > 0;) {
      if (in_block_ && static_cast<int>(level) < plan.block->level) LeaveBlock();
      const int i = plan.order[level];
      Widen(i, std::min(plan.task[i], kernel.flat.indices[i].range));
    }
    if (in_block_) LeaveBlock();
    for (size_t level = plan.order.size(); level-- > 0;) {
      const int i = plan.order[level];
      Widen(i, kernel.flat.indices[i].range);
    }
  }

  // Bytes moved into cache number `cache` (0: L1), of `cache_bytes`, by the whole kernel. Data
  // shared by two iterations of a loop stays in the cache if one iteration fits.
  double Moved(double cache_bytes, size_t cache) const {
    const auto bytes = [cache](const Touched& touched) {
      return touched.moved - (cache < 2 ? 0 : touched.saved);
    };
    double times = outside_;
    double moved = bytes(levels_[0].touched) * times;
    size_t level = 1;
    for (; level < levels_.size(); ++level) {
      const Touched& step = levels_[level - 1].touched;
      if ((cache < 2 ? step.held[cache] : step.bytes) > cache_bytes) break;
      times /= levels_[level].repeats;
      moved = std::min(moved, bytes(levels_[level].touched) * times);
    }
    return level > block_levels_ ? moved : moved + bytes(ends_) * blocks_;
  }

  // Bytes of all tensor elements that the kernel reads and writes.
  double bytes() const { return levels_.back().touched.bytes; }

  // Cycles for stores to several pages, and for stores to a page other than the last iteration's of
  // the innermost loop.
  double StoreCycles() const {
    double cycles = 0;
    for (const CpuKernel::Access& write : kernel_.writes) {
      double pages = 1;
      double lines = static_cast<double>(write.bytes) / Line();
      for (int i = 0; i < kernel_.flat.output_index_count; ++i) {
        lines *= static_cast<double>(plan_.unroll[i]);
        if (std::abs(write.strides[i]) * write.bytes >= cpu::kPageBytes) {
          pages *= static_cast<double>(plan_.unroll[i]);
        }
      }
      cycles += (pages - 1) * kStoredPage;
      for (size_t level = plan_.order.size(); level-- > 0;) {
        const int i = plan_.order[level];
        if (std::min(plan_.task[i], kernel_.flat.indices[i].range) <= plan_.unroll[i]) continue;
        const int64_t step = std::abs(write.strides[i]) * plan_.unroll[i] * write.bytes;
        if (step >= cpu::kPageBytes) cycles += lines * kStoredFarLine;
        break;
      }
    }
    return cycles * tiles_ * blocks_;
  }

  // Cycles to copy staged operands and to save and restore partial results.
  double BlockCycles() const {
    if (!plan_.block) return 0;
    double cycles = copies_ * blocks_ * chunks_;
    if (HasChunks()) cycles += tiles_ * blocks_ * chunks_ * resume_;
    return cycles;
  }

 private:
  struct Level {
    Touched touched;
    double repeats = 1;  // iterations over the level below
  };

  bool HasChunks() const { return plan_.block->chunk_index >= 0; }
  std::array<double, 2> Caches() const { return UsableBytes(kernel_.settings); }
  double Line() const { return static_cast<double>(kernel_.settings.cache_line_bytes); }

  // Slowness of a read whose tile consists of short contiguous spans.
  double Slowness(const CpuKernel::Access& read) const {
    const int v = plan_.vector_index;
    if (read.access < 0 || v < 0 || read.strides[v] != 1) return kScatteredLines;
    const poly::FlatContraction& flat = kernel_.flat;
    const poly::Tensor& tensor = flat.tensors[flat.accesses[read.access].tensor];
    if (flat.point_count() > tensor.shape.element_count()) return kScatteredLines;
    const double span = static_cast<double>(plan_.unroll[v] * read.bytes);
    return 1 + kScatteredSpanCost / std::max(span, Line());
  }

  // Share of the memory time that a prefetched single stream saves.
  double SavedByStream() const {
    return 1 - cpu::kMemoryBytesPerCycle / kernel_.core.one_stream_bytes_per_cycle;
  }

  double Elements(const CpuKernel::Access& read) const {
    double elements = 1;
    for (size_t i = 0; i < extent_.size(); ++i) {
      if (read.strides[i] != 0) elements *= static_cast<double>(extent_[i]);
    }
    return elements;
  }

  double Tile() const {
    double elements = 1;
    for (int i = 0; i < kernel_.flat.output_index_count; ++i) {
      elements *= static_cast<double>(extent_[i]);
    }
    return elements;
  }

  // Recomputes the data of all accesses that index `index` moves; -1: of all accesses.
  void Touch(int index) {
    const auto count = [&](const CpuKernel::Access& access, double scattered_below, size_t at) {
      if (index >= 0 && access.strides[index] == 0) return;
      touched_[at] = Footprint(access, extent_, Line(), Caches(), scattered_below);
    };
    const size_t reads = kernel_.reads.size();
    for (size_t r = 0; r < reads; ++r) count(kernel_.reads[r], kScatteredSpanBytes, r);
    for (size_t w = 0; w < kernel_.writes.size(); ++w) {
      count(kernel_.writes[w], kScatteredStoreBytes, reads + w);
    }
  }

  Touched Footprints() const {
    Touched all;
    const auto add = [&](const Touched& touched) {
      all.bytes += touched.bytes;
      for (size_t cache = 0; cache < 2; ++cache) all.held[cache] += touched.held[cache];
      all.moved += touched.moved;
      all.saved += touched.saved;
    };
    for (size_t r = 0; r < kernel_.reads.size(); ++r) {
      const CpuKernel::Access& read = kernel_.reads[r];
      if (in_block_ && IsStaged(plan_, read)) {
        const double bytes = Elements(read) * static_cast<double>(read.bytes);
        add({bytes, {bytes, bytes}, bytes});
        continue;
      }
      Touched touched = touched_[r];
      if (slowness_[r] > 1 && !IsStaged(plan_, read)) touched.moved = touched.bytes * slowness_[r];
      touched.saved = touched.moved * saved_[r];
      add(touched);
    }
    if (in_block_ && HasChunks()) {
      const double bytes = Tile() * static_cast<double>(kernel_.element_bytes);
      add({bytes, {bytes, bytes}, 2 * bytes});
    } else {
      for (size_t w = 0; w < kernel_.writes.size(); ++w) add(touched_[kernel_.reads.size() + w]);
    }
    all.bytes += private_bytes_;
    for (double& held : all.held) held += private_bytes_;
    return all;
  }

  void Widen(int index, int64_t to) {
    if (to <= extent_[index]) return;
    const double count = CeilDiv(to, extent_[index]);
    extent_[index] = to;
    Touch(index);
    levels_.push_back({Footprints(), count});
    outside_ *= count;
    (in_block_ ? tiles_ : blocks_) *= count;
  }

  // Leaves the cache block: staged operands are read from their tensors once per block, and results
  // are stored once.
  void LeaveBlock() {
    for (size_t r = 0; r < kernel_.reads.size(); ++r) {
      const CpuKernel::Access& read = kernel_.reads[r];
      if (!IsStaged(plan_, read)) continue;
      private_bytes_ += Elements(read) * static_cast<double>(read.bytes);
      ends_.moved += touched_[r].moved;
      copies_ += CopyCycles(read);
    }
    block_levels_ = levels_.size();
    in_block_ = false;
    if (!HasChunks()) return;
    const double partials = Tile() * static_cast<double>(kernel_.element_bytes);
    const double per_line =
        partials <= static_cast<double>(kernel_.settings.l1_bytes) / 4   ? kLineInL1
        : partials <= static_cast<double>(kernel_.settings.l2_bytes) / 2 ? kLineInL2
                                                                         : kLineBeyond;
    resume_ = kResumeCycles + partials / tiles_ / Line() * per_line;
    private_bytes_ += partials;
    const int chunk_index = plan_.block->chunk_index;
    chunks_ = CeilDiv(kernel_.flat.indices[chunk_index].range, plan_.block->chunk_length);
    ends_.moved *= chunks_;
    for (size_t w = 0; w < kernel_.writes.size(); ++w) {
      ends_.moved += touched_[kernel_.reads.size() + w].moved;
    }
    extent_[chunk_index] = kernel_.flat.indices[chunk_index].range;
    Touch(chunk_index);
    levels_.push_back({Footprints(), chunks_});
    outside_ *= chunks_;
  }

  double CopyCycles(const CpuKernel::Access& read) const {
    const int v = plan_.vector_index;
    const double lanes = static_cast<double>(std::max<int64_t>(kernel_.settings.vector_width, 1));
    const int last = plan_.reduction_order.back();
    const bool is_far = std::abs(read.strides[last]) * read.bytes >= cpu::kPageBytes;
    if (v >= 0 && (read.strides[v] == 1 || read.strides[v] == kMaxCopiedStep)) {
      const double lines = Footprint(read, extent_, Line(), Caches()).bytes / Line();
      return Elements(read) / static_cast<double>(plan_.lanes) * kCopiedVector *
                 static_cast<double>(read.strides[v]) +
             lines * (is_far ? kFarLine : kNearLine);
    }
    const int rows = ContiguousRows(kernel_.flat, plan_, read.access);
    if (rows >= 0 && read.strides[rows] == 1) return Elements(read) * kCopiedNeighbour;
    if (rows >= 0) {
      const auto count = static_cast<uint64_t>(plan_.unroll[rows]);
      const uint64_t most = kMaxNeighbours;
      const auto vectors = static_cast<double>(count / most + std::popcount(count % most));
      const double far = is_far ? kernel_.core.distant_strided_copy_cycles : 0;
      return Elements(read) / static_cast<double>(count) * (vectors * kCopiedVector + far);
    }
    const bool in_rows = (v < 0 || read.strides[v] == 0) && read.strides[last] == 1;
    return Elements(read) * (in_rows ? kCopiedVector / lanes : kCopiedElement);
  }

  const CpuKernel& kernel_;
  const CpuPlan& plan_;
  std::vector<int64_t> extent_;   // current extent of each index
  std::vector<Touched> touched_;  // reads, then writes, at that extent
  // Per read: factor by which its lines arrive slower, because a tile reads distant lines whatever
  // the loop order.
  std::vector<double> slowness_;
  std::vector<double> saved_;  // per read: share of time that a single stream saves
  bool in_block_ = false;
  double private_bytes_ = 0;
  std::vector<Level> levels_;
  size_t block_levels_ = 0;  // number of levels inside the block
  Touched ends_;             // data copied into a block and stored at its end
  double outside_ = 1;       // executions of the current level
  double tiles_ = 1;         // tiles per block
  double chunks_ = 1;
  double blocks_ = 1;
  double resume_ = 0;  // cycles per tile between two K chunks
  double copies_ = 0;  // copy cycles per block and K chunk
};

}  // namespace

void AddMemoryCost(const CpuKernel& kernel, const CpuPlan& plan, CpuCost* cost) {
  const Nest nest(kernel, plan);
  const std::array<double, 2> caches = UsableBytes(kernel.settings);
  const std::array<double, 3> sizes = {caches[0], caches[1], cpu::kL3Bytes};
  const std::array<double, 3> rates = {kernel.core.l1_bytes_per_cycle, cpu::kL2BytesPerCycle,
                                       cpu::kMemoryBytesPerCycle};
  for (size_t cache = 0; cache < sizes.size(); ++cache) {
    cost->memory[cache] = nest.Moved(sizes[cache], cache) / rates[cache];
  }
  if (kernel.launch.stays_in_cache) cost->memory[1] = cost->memory[2] = 0;
  // Kernels with little computation per element profit from L3, where the preceding kernel has just
  // written their inputs.
  if (!kernel.windows.empty() && nest.bytes() <= cpu::kL3Bytes) cost->memory[2] = 0;
  cost->epilogue += nest.BlockCycles();
  if (kernel.flat.is_reduction())
    cost->epilogue +=
        nest.StoreCycles() + PanelReloadCycles(kernel, plan) + PrefetchRestartCycles(kernel, plan);
  const int64_t items = plan.ItemCount(kernel.flat);
  cost->DivideAmong(kernel.settings.compute_units, items);
  // Cycles to start a work-item; empirical.
  const double start_cycles = 150 * static_cast<double>(items);
  cost->epilogue += start_cycles;
}

}  // namespace tartan::plan
