#include "tile/plan/group_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tartan::plan {
namespace {

// Figures of NVIDIA's compute units, which the others resemble.
constexpr double kWarp = 32;                   // work-items that execute together
constexpr double kSchedulers = 4;              // warps that issue an instruction in a cycle
constexpr double kCacheBytesPerCycle = 40;     // a compute unit's share of the L2 cache
constexpr double kSectorBytes = 32;            // of a memory transaction
constexpr double kMemoryLatency = 1000;        // cycles
constexpr double kMemoryBytesPerCycle = 11.5;  // a compute unit's share of memory
constexpr double kIssueRate = 0.95;            // instructions per cycle with very many warps
constexpr double kStalledWarps = 0.6;
constexpr double kGroupCycles = 160;  // between the starts of two groups
constexpr double kOverlapLoss = 0.15;
constexpr double kStepLatency = 100;      // tile to local memory, barrier, first reads
constexpr double kRoundLatency = 200;     // of a loop that is not unrolled
constexpr double kConditionalLoad = 2.5;  // registers per register loaded
constexpr double kCheckInstructions = 3;  // of a constraint, per point
constexpr double kCachedInstructions = 1500;
constexpr double kLoadedRegisters = 32;  // loads under way in a copy
constexpr double kBarrierLatency = 40;
constexpr double kResidentItems = 2048;  // per compute unit
constexpr double kResidentGroups = 32;
constexpr double kMaxRegisters = 240;  // of 255: estimates are not exact
constexpr double kOverheadRegisters = 28;
constexpr double kLaunchMicroseconds = 2;

double Held(const GroupPlan& plan, size_t i) { return static_cast<double>(plan.splits[i].held()); }

// `copies` of the elements held of each tile are in registers.
double CountRegisters(const GroupProblem& problem, const GroupPlan& plan, double copies) {
  const poly::FlatContraction& flat = problem.flat();
  double outputs = 1;
  for (int i = 0; i < flat.output_index_count; ++i) outputs *= Held(plan, i);
  double words = kOverheadRegisters;
  if (flat.is_reduction()) words += outputs * ByteWidth(flat.accumulator_type) / 4;
  for (const StagedAccess& staged : plan.staged) {
    const GroupProblem::Access& access = problem.accesses()[staged.access];
    const double width = static_cast<double>(ByteWidth(ComputeType(access.type))) / 4;
    double held = 1;
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (access.flat.strides[i] != 0) held *= Held(plan, i);
    }
    if (staged.vector_index >= flat.output_index_count) {
      held *= static_cast<double>(plan.splits[staged.vector_index].vector);
    }
    double next = 1;
    for (const TileDim& dim : staged.layout.dims) {
      next *= static_cast<double>(dim.Rounds() * dim.vector);
    }
    // Conditions of loads that are under way take registers, too.
    const double loads = staged.absorbed.empty() ? 1 : kConditionalLoad;
    words += copies * held * width;
    if (plan.buffering != Buffering::kNone) words += loads * next * width;
  }
  return words;
}

// Cycles of a warp's read from local memory at `addresses`, `lanes` elements each: its banks give
// one unit of that size at a time.
double BankCycles(const std::vector<int64_t>& addresses, int64_t lanes) {
  const int64_t banks = std::max<int64_t>(32 / lanes, 1);
  std::array<std::array<int64_t, 32>, 32> units;
  std::array<int, 32> counts = {};
  int most = static_cast<int>(lanes);  // a warp of vectors takes several turns
  for (int64_t address : addresses) {
    const int64_t unit = address / lanes;
    const int64_t bank = ((unit % banks) + banks) % banks;
    const auto end = units[bank].begin() + counts[bank];
    if (std::find(units[bank].begin(), end, unit) != end) continue;
    units[bank][counts[bank]++] = unit;
    most = std::max(most, counts[bank]);
  }
  return most;
}

// Memory sectors that a warp touches at `addresses`, `lanes` elements each.
double Sectors(const std::vector<int64_t>& addresses, double element_bytes, int64_t lanes) {
  std::vector<int64_t> sectors;
  for (int64_t address : addresses) {
    for (int64_t lane : {int64_t{0}, lanes - 1}) {
      sectors.push_back(static_cast<int64_t>(
          std::floor(static_cast<double>(address + lane) * element_bytes / kSectorBytes)));
    }
  }
  std::sort(sectors.begin(), sectors.end());
  return static_cast<double>(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
}

// What one group does, per step or at its end.
struct Work {
  double instructions = 0;      // per work-item
  double local_cycles = 0;      // of the compute unit's local memory
  double bytes = 0;             // through the L2 cache
  double latency = 0;           // of a group by itself, beside its instructions
  double loaded_registers = 0;  // what copies to local memory pass through, per work-item
};

class Model {
 public:
  Model(const GroupProblem& problem, const GroupPlan& plan, const HardwareSettings& settings)
      : problem_(problem), plan_(plan), settings_(settings) {
    threads_ = static_cast<double>(plan.threads());
    warps_ = std::ceil(threads_ / kWarp);
    // Where the first warp's work-items are along each index.
    const int64_t items = std::min<int64_t>(plan.threads(), 32);
    for (size_t i = 0; i < plan.splits.size(); ++i) {
      int64_t below = 1;
      int64_t scale = plan.splits[i].vector;
      std::array<int64_t, 32> at = {};
      for (const ThreadPart& part : plan.thread_parts) {
        if (part.index == static_cast<int>(i)) {
          for (int64_t item = 0; item < items; ++item)
            at[item] += item / below % part.count * scale;
          scale *= part.count;
        }
        below *= part.count;
      }
      warp_.push_back(at);
    }
    warp_size_ = static_cast<int>(items);
  }

  GroupCost Estimate() {
    const poly::FlatContraction& flat = problem_.flat();
    GroupCost cost;
    cost.groups = static_cast<double>(plan_.GroupCount(flat));
    cost.steps = static_cast<double>(plan_.StepCount(flat));
    cost.registers = RegisterCount(problem_, plan_);
    cost.local_bytes = LocalBytes();
    const Work step = flat.is_reduction() ? StepWork(&cost) : Work{};
    const Work end = EndWork();
    double operations = flat.is_reduction() ? static_cast<double>(problem_.operations() + 1) : 1;
    cost.flops = static_cast<double>(flat.point_count()) * operations;
    double done = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      const double tile = static_cast<double>(plan_.splits[i].tile());
      done *= std::ceil(static_cast<double>(flat.indices[i].range) / tile) * tile;
    }
    cost.waste = done / static_cast<double>(flat.point_count());
    cost.group_bytes = step.bytes * cost.steps + end.bytes;
    cost.dram_bytes = UniqueBytes();
    const double resident = ResidentGroups(cost);
    cost.occupancy = resident * threads_ / kResidentItems;
    const double units = static_cast<double>(std::max<int64_t>(settings_.compute_units, 1));
    const double waves = std::floor(cost.groups / (units * resident));
    const double rest = std::ceil((cost.groups - waves * units * resident) / units);
    const double cycles = waves * GroupCycles(resident, step, end, cost.steps) +
                          (rest > 0 ? GroupCycles(rest, step, end, cost.steps) : 0);
    const double clock = settings_.clock_mhz > 0 ? static_cast<double>(settings_.clock_mhz) : 1500;
    const double bandwidth =
        settings_.gbps > 0 ? settings_.gbps * 1e3 : units * clock * kMemoryBytesPerCycle;
    const double computing = cycles / clock;
    const double moving = cost.dram_bytes / bandwidth;
    // Neither hides the other entirely.
    cost.microseconds = kLaunchMicroseconds + std::max(computing, moving) +
                        kOverlapLoss * std::min(computing, moving);
    const bool fits = NeededRegisters() <= kMaxRegisters && resident >= 1 &&
                      cost.local_bytes <= static_cast<double>(settings_.local_memory_bytes);
    if (!fits) cost.microseconds = std::numeric_limits<double>::infinity();
    return cost;
  }

 private:
  // Of the first warp's work-items, with the given strides of the indices.
  std::vector<int64_t> Addresses(const std::vector<int64_t>& strides) const {
    std::vector<int64_t> addresses(warp_size_, 0);
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] == 0 || plan_.splits[i].threads == 1) continue;
      for (int item = 0; item < warp_size_; ++item) addresses[item] += strides[i] * warp_[i][item];
    }
    return addresses;
  }

  double NeededRegisters() const { return CountRegisters(problem_, plan_, 1); }

  double LocalBytes() const {
    double bytes = 0;
    for (const StagedAccess& staged : plan_.staged) {
      const DataType type = ComputeType(problem_.accesses()[staged.access].type);
      bytes += static_cast<double>(staged.layout.size * ByteWidth(type)) *
               (plan_.buffering == Buffering::kDouble ? 2 : 1);
    }
    if (plan_.partial_threads(problem_.flat()) > 1) {
      const int lane_index = plan_.lane_index;
      const bool lanes = lane_index >= 0 && problem_.is_output(lane_index);
      bytes += threads_ * ByteWidth(problem_.flat().accumulator_type) *
               static_cast<double>(lanes ? plan_.splits[lane_index].vector : 1);
    }
    return bytes;
  }

  // Per work-item, everything that happens for one step.
  Work StepWork(GroupCost* cost) const {
    Work work;
    double updates = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) updates *= Held(plan_, i);
    const double operations = static_cast<double>(std::max<int64_t>(problem_.operations(), 1));
    work.instructions = updates * operations + 20;
    double reads = 0;
    for (const StagedAccess& staged : plan_.staged) {
      reads += AddStaged(staged, &work);
    }
    cost->local_reads = reads / updates;
    const std::vector<bool> filled = FilledConstraints(problem_, plan_);
    const auto checks = static_cast<double>(std::count(filled.begin(), filled.end(), false));
    work.instructions += updates * checks * kCheckInstructions;
    // Code that does not fit the instruction cache.
    if (work.instructions > kCachedInstructions) {
      work.instructions += (work.instructions - kCachedInstructions) * checks;
    }
    bool has_direct = false;
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      if (problem_.accesses()[a].in_body && !IsStaged(static_cast<int>(a))) {
        AddDirect(problem_.accesses()[a], true, &work);
        has_direct = true;
      }
    }
    if (!plan_.staged.empty()) {
      work.latency += kStepLatency;
      if (plan_.buffering != Buffering::kDouble) work.latency += kBarrierLatency;
      if (plan_.buffering == Buffering::kNone) {
        // The compiler starts some loads before it waits for the first.
        work.latency += kMemoryLatency * std::ceil(work.loaded_registers / kLoadedRegisters);
      }
    }
    work.latency += static_cast<double>(plan_.Unroll(problem_.flat()).rounds - 1) * kRoundLatency;
    if (has_direct) work.latency += kMemoryLatency;
    return work;
  }

  // Several work-groups read the same elements.
  bool IsShared(const GroupProblem::Access& access) const {
    for (int i = 0; i < problem_.flat().output_index_count; ++i) {
      if (access.flat.strides[i] == 0) return true;
    }
    return false;
  }

  bool IsStaged(int access) const {
    return std::any_of(plan_.staged.begin(), plan_.staged.end(),
                       [=](const StagedAccess& staged) { return staged.access == access; });
  }

  // Returns the reads from local memory per work-item.
  double AddStaged(const StagedAccess& staged, Work* work) const {
    const GroupProblem::Access& access = problem_.accesses()[staged.access];
    double elements = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      if (access.flat.strides[i] != 0) elements *= Held(plan_, i);
    }
    const int64_t lanes = staged.vector_index < 0 ? 1 : plan_.splits[staged.vector_index].vector;
    const double reads = elements / static_cast<double>(lanes);
    work->instructions += reads;
    std::vector<int64_t> strides;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      strides.push_back(staged.layout.LocalStride(static_cast<int>(i)));
    }
    work->local_cycles += reads * warps_ * BankCycles(Addresses(strides), lanes);
    // The copy.
    double rounds = 1;
    double load_lanes = 1;
    double store_lanes = 1;
    for (const TileDim& dim : staged.layout.dims) {
      rounds *= static_cast<double>(dim.Rounds());
      if (dim.vector == 1) continue;
      load_lanes = static_cast<double>(dim.vector);
      if (dim.local_stride == 1) store_lanes = load_lanes;
    }
    const double stores = rounds * load_lanes / store_lanes;
    work->loaded_registers += rounds * load_lanes;
    const double conditions = static_cast<double>(staged.absorbed.size());
    work->instructions += rounds * (4 + 3 * conditions) + stores;
    work->local_cycles += stores * warps_ * (store_lanes > 1 ? 4 : 2);
    const double bytes = static_cast<double>(ByteWidth(access.type));
    const auto line = static_cast<int64_t>(kSectorBytes / bytes);
    work->bytes += LoadCount(staged.layout, line) * kSectorBytes;
    return reads;
  }

  // Accesses of memory by every work-item, at every position in the step or at the end.
  void AddDirect(const GroupProblem::Access& access, bool in_step, Work* work) const {
    double elements = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      const bool counts = in_step || problem_.is_output(static_cast<int>(i));
      if (counts && access.flat.strides[i] != 0) elements *= Held(plan_, i);
    }
    Work all;
    AddMemory(access.flat, ByteWidth(access.type), elements, &all);
    work->instructions += all.instructions;
    work->local_cycles += all.local_cycles;
    // What work-items share comes from the cache beside them.
    std::vector<int64_t> tile = plan_.Tile();
    if (!in_step) tile.resize(problem_.flat().output_index_count);
    tile.resize(plan_.splits.size(), 1);
    double distinct = static_cast<double>(ByteWidth(access.type));
    for (const TileDim& dim : MergeTileDims(access.flat, tile, {})) {
      distinct *= static_cast<double>(dim.range);
    }
    const double nearest = NearStride(access.flat, tile);
    work->bytes +=
        std::min(all.bytes, distinct * std::min(nearest, kSectorBytes / ByteWidth(access.type)));
  }

  // The least step between elements of a tile.
  static double NearStride(const poly::FlatAccess& access, const std::vector<int64_t>& tile) {
    int64_t nearest = INT64_MAX;
    for (size_t i = 0; i < tile.size(); ++i) {
      const int64_t stride = access.strides[i] < 0 ? -access.strides[i] : access.strides[i];
      if (tile[i] > 1 && stride != 0) nearest = std::min(nearest, stride);
    }
    return nearest == INT64_MAX ? 1 : static_cast<double>(nearest);
  }

  void AddMemory(const poly::FlatAccess& access, double element_bytes, double elements,
                 Work* work) const {
    int64_t lanes = 1;
    if (plan_.lane_index >= 0 && access.strides[plan_.lane_index] == 1) {
      lanes = plan_.splits[plan_.lane_index].vector;
    }
    const double accesses = std::max(elements / static_cast<double>(lanes), 1.0);
    const double sectors = Sectors(Addresses(access.strides), element_bytes, lanes);
    work->instructions += accesses * 3;
    work->local_cycles += accesses * warps_ * std::max(sectors * kSectorBytes / 128, 1.0);
    work->bytes += accesses * warps_ * sectors * kSectorBytes;
  }

  Work EndWork() const {
    Work work;
    double elements = 1;
    for (int i = 0; i < problem_.flat().output_index_count; ++i) elements *= Held(plan_, i);
    for (const poly::Output& output : problem_.flat().outputs) {
      work.instructions += elements * static_cast<double>(OperationCount(output.expr));
      AddMemory(problem_.output(), ByteWidth(output.shape.type), elements, &work);
    }
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      const GroupProblem::Access& access = problem_.accesses()[a];
      if (access.in_outputs && !IsStaged(static_cast<int>(a))) AddDirect(access, false, &work);
    }
    if (!problem_.flat().is_reduction()) {
      for (const StagedAccess& staged : plan_.staged) AddStaged(staged, &work);
    }
    const double sharers = static_cast<double>(plan_.partial_threads(problem_.flat()));
    if (sharers > 1) {
      const double rounds = std::log2(sharers) + 1;
      work.instructions += elements * rounds * 4;
      work.latency += elements * rounds * kBarrierLatency;
    }
    work.latency += kMemoryLatency;
    return work;
  }

  // Memory gives short runs of neighbours more slowly.
  double ShortRuns(const poly::FlatAccess& access, double element_bytes) const {
    int64_t run = 1;
    for (const TileDim& dim : MergeTileDims(access, plan_.Tile(), {})) {
      if (dim.global_stride == 1) run = dim.range;
    }
    const double bytes = static_cast<double>(run) * element_bytes;
    return bytes <= kSectorBytes ? 0.35 : bytes <= 2 * kSectorBytes ? 0.06 : 0;
  }

  // Bytes that memory must give and take at least.
  double UniqueBytes() const {
    double bytes = 0;
    for (const GroupProblem::Access& access : problem_.accesses()) {
      if (!access.in_body || IsShared(access)) continue;
      bytes += ShortRuns(access.flat, ByteWidth(access.type)) *
               static_cast<double>(access.count * ByteWidth(access.type));
    }
    for (const poly::Tensor& tensor : problem_.flat().tensors) {
      bytes += static_cast<double>(tensor.shape.byte_size());
    }
    for (const poly::Output& output : problem_.flat().outputs) {
      bytes += static_cast<double>(output.shape.byte_size());
    }
    return bytes;
  }

  double ResidentGroups(const GroupCost& cost) const {
    // The register file is four times what one group's accumulators may take, and local memory
    // about four times what one group may have.
    const double registers = static_cast<double>(settings_.register_bytes);  // of 4 bytes
    const double rounded = std::ceil(std::min(cost.registers, 255.0) / 8) * 8;
    const double by_registers = std::floor(registers / (rounded * warps_ * kWarp));
    const double by_items = std::floor(kResidentItems / (warps_ * kWarp));
    double groups = std::min({by_registers, by_items, kResidentGroups});
    if (cost.local_bytes > 0) {
      const double local = 4 * static_cast<double>(settings_.local_memory_bytes);
      groups = std::min(groups, std::floor(local / (cost.local_bytes + 1024)));
    }
    return groups;
  }

  // Cycles in which a compute unit does `count` groups side by side.
  double GroupCycles(double count, const Work& step, const Work& end, double steps) const {
    auto cycles = [&](const Work& work) {
      // Warps of a scheduler; the more, the fewer cycles in which none of them can issue.
      const double warps = std::ceil(count * warps_ / kSchedulers);
      const double issue = work.instructions * (warps + kStalledWarps) / kIssueRate;
      const double local = count * work.local_cycles;
      const double memory = count * work.bytes / kCacheBytesPerCycle;
      // Groups that started together wait together.
      return std::max({issue, local, memory}) + 0.2 * std::min(issue, local) + work.latency;
    };
    return std::max(steps * cycles(step) + cycles(end), count * kGroupCycles);
  }

  const GroupProblem& problem_;
  const GroupPlan& plan_;
  const HardwareSettings& settings_;
  double threads_;
  double warps_;
  std::vector<std::array<int64_t, 32>> warp_;  // per index
  int warp_size_ = 0;
};

}  // namespace

// The compiler loads the next elements while it computes with these.
double RegisterCount(const GroupProblem& problem, const GroupPlan& plan) {
  return CountRegisters(problem, plan, 1.5);
}

GroupCost EstimateGroupCost(const GroupProblem& problem, const GroupPlan& plan,
                            const HardwareSettings& settings) {
  return Model(problem, plan, settings).Estimate();
}

}  // namespace tartan::plan
