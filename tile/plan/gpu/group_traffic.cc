// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/group_traffic.h"

#include <algorithm>
#include <cmath>

#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

// Cycles of a warp's read from local memory at `addresses`, `lanes` elements each. A bank serves
// one vector of that size per cycle.
double BankCycles(const std::vector<int64_t>& addresses, int64_t lanes) {
  const int64_t banks = std::max<int64_t>(32 / lanes, 1);
  std::array<std::array<int64_t, 32>, 32> units;
  std::array<int, 32> counts = {};
  int most = static_cast<int>(lanes);  // a warp of vectors takes several accesses
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

// Number of memory segments of kBytes each that a warp touches at `addresses`, `lanes` elements
// each.
template <int64_t kBytes>
double Pieces(const std::vector<int64_t>& addresses, int64_t element_bytes, int64_t lanes) {
  std::array<int64_t, 2 * gpu::kWarp> pieces;
  auto end = pieces.begin();
  for (int64_t address : addresses) {
    for (int64_t lane : {int64_t{0}, lanes - 1}) {
      const int64_t byte = (address + lane) * element_bytes;
      const int64_t piece = (byte >= 0 ? byte : byte - (kBytes - 1)) / kBytes;
      if (end == pieces.begin() || *(end - 1) != piece) *end++ = piece;
    }
  }
  if (!std::is_sorted(pieces.begin(), end)) std::sort(pieces.begin(), end);
  return static_cast<double>(std::unique(pieces.begin(), end) - pieces.begin());
}

// Minimum nonzero stride between elements of a tile.
double NearStride(const poly::FlatAccess& access, const std::vector<int64_t>& tile) {
  int64_t nearest = INT64_MAX;
  for (size_t i = 0; i < tile.size(); ++i) {
    const int64_t stride = access.strides[i] < 0 ? -access.strides[i] : access.strides[i];
    if (tile[i] > 1 && stride != 0) nearest = std::min(nearest, stride);
  }
  return nearest == INT64_MAX ? 1 : static_cast<double>(nearest);
}

}  // namespace

GroupTraffic::GroupTraffic(const GroupProblem& problem, const GpuPlan& plan)
    : problem_(problem),
      plan_(plan),
      warps_(std::ceil(static_cast<double>(plan.threads()) / gpu::kWarp)) {
  // Positions of the first warp's work-items along each index.
  const int64_t items = std::min<int64_t>(plan.threads(), 32);
  for (size_t i = 0; i < plan.splits.size(); ++i) {
    int64_t below = 1;
    int64_t scale = plan.splits[i].vector;
    std::array<int64_t, 32> at = {};
    for (const ThreadPart& part : plan.thread_parts) {
      if (part.index == static_cast<int>(i)) {
        for (int64_t item = 0; item < items; ++item) at[item] += item / below % part.count * scale;
        scale *= part.count;
      }
      below *= part.count;
    }
    warp_.push_back(at);
  }
  warp_size_ = static_cast<int>(items);
}

// Addresses of the first warp's work-items for the given strides of the indices.
std::vector<int64_t> GroupTraffic::Addresses(const std::vector<int64_t>& strides) const {
  std::vector<int64_t> addresses(warp_size_, 0);
  for (size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0 || plan_.splits[i].threads == 1) continue;
    for (int item = 0; item < warp_size_; ++item) addresses[item] += strides[i] * warp_[i][item];
  }
  return addresses;
}

// Number of distinct positions of an access that a work-item reads: unrolled loops read each
// position once.
double GroupTraffic::Positions(const GroupProblem::Access& access, bool in_step) const {
  poly::FlatAccess own;  // strides of the vector and of the blocks of each index
  std::vector<int64_t> counts;
  double all = 1;
  for (size_t i = 0; i < plan_.splits.size(); ++i) {
    const IndexSplit& split = plan_.splits[i];
    const int64_t stride = access.flat.strides[i];
    if (stride == 0 || (!in_step && !problem_.is_output(static_cast<int>(i)))) continue;
    own.strides.insert(own.strides.end(), {stride, stride * split.vector * split.threads});
    counts.insert(counts.end(), {split.vector, split.blocks});
    all *= Held(i);
  }
  double positions = 1;
  for (const TileDim& dim : MergeTileDims(own, counts, {})) {
    positions *= static_cast<double>(dim.range);
  }
  return std::min(positions, all);
}

double GroupTraffic::WindowRegisters() const {
  if (!problem_.flat().is_reduction()) return 0;
  double registers = 0;
  for (size_t a = 0; a < problem_.accesses().size(); ++a) {
    const GroupProblem::Access& access = problem_.accesses()[a];
    if (!access.in_body || IsStaged(static_cast<int>(a))) continue;
    double all = 1;
    for (size_t i = 0; i < plan_.splits.size(); ++i) {
      if (access.flat.strides[i] != 0) all *= Held(i);
    }
    const double positions = Positions(access, true);
    const double words = static_cast<double>(ByteWidth(ComputeType(access.type))) / 4;
    if (positions < all) registers += positions * words;
  }
  return registers;
}

// Returns whether one instruction reads the access's lanes: they are aligned and not checked one by
// one.
bool GroupTraffic::ReadsLanes(const GroupProblem::Access& access) const {
  const int lane = plan_.lane_index;
  if (lane < 0 || access.flat.strides[lane] != 1) return false;
  const int64_t lanes = plan_.splits[lane].vector;
  if (access.flat.offset % lanes != 0) return false;
  for (size_t i = 0; i < plan_.splits.size(); ++i) {
    const int64_t range = problem_.flat().indices[i].range;
    if (static_cast<int>(i) == lane || range == 1) continue;
    if (access.flat.strides[i] % lanes != 0) return false;
  }
  return true;
}

bool GroupTraffic::IsStaged(int access) const {
  return std::any_of(plan_.staged.begin(), plan_.staged.end(),
                     [=](const StagedAccess& staged) { return staged.access == access; });
}

double GroupTraffic::AddStaged(const StagedAccess& staged, GroupWork* work) const {
  const GroupProblem::Access& access = problem_.accesses()[staged.access];
  double elements = 1;
  for (size_t i = 0; i < plan_.splits.size(); ++i) {
    if (access.flat.strides[i] != 0) elements *= Held(i);
  }
  const int64_t lanes = staged.vector_index < 0 ? 1 : plan_.splits[staged.vector_index].vector;
  const double reads = elements / static_cast<double>(lanes);
  work->instructions += reads;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < plan_.splits.size(); ++i) {
    strides.push_back(staged.layout.LocalStride(static_cast<int>(i)));
  }
  work->local_cycles += reads * warps_ * BankCycles(Addresses(strides), lanes);
  if (staged.is_there) return reads;
  // Cost of the copy into local memory.
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
  work->instructions += rounds * (4 + 3 * conditions);
  if (plan_.buffering != Buffering::kAsyncCopies) {
    work->instructions += stores;
    work->loaded_registers += rounds * load_lanes;
  }
  work->local_cycles += stores * warps_ * (store_lanes > 1 ? 4 : 2);
  const double bytes = static_cast<double>(ByteWidth(access.type));
  const auto line = static_cast<int64_t>(gpu::kSectorBytes / bytes);
  work->bytes += LoadCount(staged.layout, line) * gpu::kSectorBytes;
  return reads;
}

double GroupTraffic::AddDirect(const GroupProblem::Access& access, bool in_step, double resident,
                               GroupWork* work) const {
  const double elements = Positions(access, in_step);
  GroupWork all;
  const int64_t lanes = ReadsLanes(access) ? plan_.splits[plan_.lane_index].vector : 1;
  if (access.is_local) {
    const double reads = elements / static_cast<double>(lanes);
    work->instructions += reads;
    work->local_cycles += reads * warps_ * BankCycles(Addresses(access.flat.strides), lanes);
    return 0;
  }
  const double loads = AddMemory(access.flat, ByteWidth(access.type), elements, lanes, &all);
  work->instructions += all.instructions;
  work->local_cycles += all.local_cycles;
  work->bytes_asked += all.bytes / warps_;
  // L1 serves repeated reads of the same elements by several work-items.
  std::vector<int64_t> tile = plan_.Tile();
  if (!in_step) tile.resize(problem_.flat().output_index_count);
  tile.resize(plan_.splits.size(), 1);
  double distinct = static_cast<double>(ByteWidth(access.type));
  for (const TileDim& dim : MergeTileDims(access.flat, tile, {})) {
    distinct *= static_cast<double>(dim.range);
  }
  const double nearest = NearStride(access.flat, tile);
  const double once =
      std::min(all.bytes, distinct * std::min(nearest, gpu::kSectorBytes / ByteWidth(access.type)));
  // L1 keeps them as far as the resident work-groups' data fits.
  const double held = std::min(gpu::kUnitCacheBytes / (std::max(resident, 1.0) * once), 1.0);
  work->bytes += once + (all.bytes - once) * (1 - held);
  return loads;
}

double GroupTraffic::AddMemory(const poly::FlatAccess& access, int64_t element_bytes,
                               double elements, int64_t lanes, GroupWork* work) const {
  const double accesses = std::max(elements / static_cast<double>(lanes), 1.0);
  const std::vector<int64_t> addresses = Addresses(access.strides);
  const double sectors =
      Pieces<static_cast<int64_t>(gpu::kSectorBytes)>(addresses, element_bytes, lanes);
  const double lines =
      Pieces<static_cast<int64_t>(gpu::kLineBytes)>(addresses, element_bytes, lanes);
  work->instructions += accesses * 3;
  work->local_cycles += accesses * warps_ * lines;
  work->bytes += accesses * warps_ * sectors * gpu::kSectorBytes;
  return accesses;
}

}  // namespace tartan::plan
