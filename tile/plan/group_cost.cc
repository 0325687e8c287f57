#include "tile/plan/group_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace tartan::plan {
namespace {

// Figures of NVIDIA's compute units, which the others resemble.
constexpr double kWarp = 32;             // work-items that execute together
constexpr double kSchedulers = 4;        // warps that issue an instruction in a cycle
constexpr double kCacheBytesPerCycle = 40;   // a compute unit's share of the L2 cache
constexpr double kSectorBytes = 32;      // of a memory transaction
constexpr double kMemoryLatency = 700;   // cycles
constexpr double kBarrierLatency = 40;
constexpr double kResidentItems = 2048;  // per compute unit
constexpr double kResidentGroups = 32;
constexpr double kMaxRegisters = 232;    // of 255: estimates are not exact
constexpr double kOverheadRegisters = 34;
constexpr double kLaunchMicroseconds = 2;

double Held(const GroupPlan& plan, size_t i) { return static_cast<double>(plan.splits[i].held()); }

// The steps of the thread number along each index, for the first work-items.
template <class Visit>
void ForFirstWarp(const GroupPlan& plan, Visit visit) {
  const int64_t count = std::min<int64_t>(plan.threads(), 32);
  std::vector<int64_t> at(plan.splits.size());
  for (int64_t item = 0; item < count; ++item) {
    std::fill(at.begin(), at.end(), 0);
    int64_t rest = item;
    std::vector<int64_t> scale(plan.splits.size(), 1);
    for (const ThreadPart& part : plan.thread_parts) {
      at[part.index] += rest % part.count * scale[part.index];
      scale[part.index] *= part.count;
      rest /= part.count;
    }
    for (size_t i = 0; i < at.size(); ++i) at[i] *= plan.splits[i].vector;
    visit(at);
  }
}

// Cycles of a warp's read of a staged tile.
double ReadCycles(const GroupPlan& plan, const StagedAccess& staged, int64_t lanes) {
  std::vector<int64_t> strides;
  for (size_t i = 0; i < plan.splits.size(); ++i) {
    strides.push_back(staged.layout.LocalStride(static_cast<int>(i)));
  }
  const int64_t banks = 32 / lanes;
  std::vector<std::set<int64_t>> touched(banks);
  ForFirstWarp(plan, [&](const std::vector<int64_t>& at) {
    int64_t address = 0;
    for (size_t i = 0; i < at.size(); ++i) address += strides[i] * at[i];
    const int64_t unit = address / lanes;
    touched[((unit % banks) + banks) % banks].insert(unit);
  });
  size_t most = 1;
  for (const std::set<int64_t>& units : touched) most = std::max(most, units.size());
  return static_cast<double>(most);
}

// Memory sectors that a warp touches when its work-items access `lanes` elements each.
double WarpSectors(const GroupPlan& plan, const poly::FlatAccess& access, double element_bytes,
                   int64_t lanes) {
  std::set<int64_t> sectors;
  ForFirstWarp(plan, [&](const std::vector<int64_t>& at) {
    int64_t address = 0;
    for (size_t i = 0; i < at.size(); ++i) address += access.strides[i] * at[i];
    for (int64_t lane : {int64_t{0}, lanes - 1}) {
      sectors.insert(static_cast<int64_t>(
          std::floor(static_cast<double>(address + lane) * element_bytes / kSectorBytes)));
    }
  });
  return static_cast<double>(sectors.size());
}

// What one group does, per step or at its end.
struct Work {
  double instructions = 0;   // per work-item
  double local_cycles = 0;   // of the compute unit's local memory
  double bytes = 0;          // through the L2 cache
  double latency = 0;        // of a group by itself, beside its instructions
};

class Model {
 public:
  Model(const GroupProblem& problem, const GroupPlan& plan, const HardwareSettings& settings)
      : problem_(problem), plan_(plan), settings_(settings) {
    threads_ = static_cast<double>(plan.threads());
    warps_ = std::ceil(threads_ / kWarp);
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
    const double bandwidth = settings_.gbps > 0 ? settings_.gbps : 1500;
    cost.microseconds =
        kLaunchMicroseconds + std::max(cycles / clock, cost.dram_bytes / (bandwidth * 1e3));
    const bool fits = cost.registers <= kMaxRegisters && resident >= 1 &&
                      cost.local_bytes <= static_cast<double>(settings_.local_memory_bytes);
    if (!fits) cost.microseconds = std::numeric_limits<double>::infinity();
    return cost;
  }

 private:
  double LocalBytes() const {
    double bytes = 0;
    for (const StagedAccess& staged : plan_.staged) {
      const DataType type = ComputeType(problem_.accesses()[staged.access].type);
      bytes += static_cast<double>(staged.layout.size * ByteWidth(type)) *
               (plan_.double_buffered ? 2 : 1);
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
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      if (problem_.accesses()[a].in_body && !IsStaged(static_cast<int>(a))) {
        AddDirect(problem_.accesses()[a], true, &work);
      }
    }
    if (!plan_.staged.empty()) {
      work.latency += kBarrierLatency * (plan_.double_buffered ? 1 : 2);
      if (!plan_.double_buffered) work.latency += kMemoryLatency;
    } else {
      work.latency += kMemoryLatency;
    }
    return work;
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
    const int64_t lanes =
        staged.vector_index < 0 ? 1 : plan_.splits[staged.vector_index].vector;
    const double reads = elements / static_cast<double>(lanes);
    work->instructions += reads;
    work->local_cycles += reads * warps_ * ReadCycles(plan_, staged, lanes);
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
    AddMemory(access.flat, ByteWidth(access.type), elements, work);
  }

  void AddMemory(const poly::FlatAccess& access, double element_bytes, double elements,
                 Work* work) const {
    int64_t lanes = 1;
    if (plan_.lane_index >= 0 && access.strides[plan_.lane_index] == 1) {
      lanes = plan_.splits[plan_.lane_index].vector;
    }
    const double accesses = std::max(elements / static_cast<double>(lanes), 1.0);
    const double sectors = WarpSectors(plan_, access, element_bytes, lanes);
    work->instructions += accesses * 3;
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

  // Bytes that memory must give and take at least.
  double UniqueBytes() const {
    double bytes = 0;
    for (const poly::Tensor& tensor : problem_.flat().tensors) {
      bytes += static_cast<double>(tensor.shape.byte_size());
    }
    for (const poly::Output& output : problem_.flat().outputs) {
      bytes += static_cast<double>(output.shape.byte_size());
    }
    return bytes;
  }

  double ResidentGroups(const GroupCost& cost) const {
    // NVIDIA's register file is four times what one group's accumulators may take, and local memory
    // about four times what one group may have.
    const double registers = static_cast<double>(settings_.register_bytes);
    const double rounded = std::ceil(cost.registers / 8) * 8;
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
      const double issue = count * warps_ * work.instructions / kSchedulers;
      const double local = count * work.local_cycles;
      const double memory = count * work.bytes / kCacheBytesPerCycle;
      return std::max({issue, local, memory, work.instructions + work.latency});
    };
    return steps * cycles(step) + cycles(end);
  }

  const GroupProblem& problem_;
  const GroupPlan& plan_;
  const HardwareSettings& settings_;
  double threads_;
  double warps_;
};

}  // namespace

double RegisterCount(const GroupProblem& problem, const GroupPlan& plan) {
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
    words += held * width + (plan.double_buffered ? next * (width + 0.25) : 0);
  }
  return words;
}

GroupCost EstimateGroupCost(const GroupProblem& problem, const GroupPlan& plan,
                            const HardwareSettings& settings) {
  return Model(problem, plan, settings).Estimate();
}

}  // namespace tartan::plan
