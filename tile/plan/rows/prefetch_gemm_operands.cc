// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/prefetch_gemm_operands.h"

#include <algorithm>
#include <set>

#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxRegisters = 192;  // maximum registers for all prefetched values, of 255
// Maximum registers per access: longer sequences of loads hide their own latency. LLaMA's attention
// of 64 queries took 6.1 us with 64 and 8.4 us with 128, and other work-groups were slower, too.
constexpr int64_t kMaxOfAccess = 64;

bool IsStaged(const GpuPlan& product, int access) {
  return std::any_of(product.staged.begin(), product.staged.end(),
                     [&](const StagedAccess& staged) { return staged.access == access; });
}

bool IsGuardedAlong(const poly::FlatContraction& flat, int access, int index) {
  const auto& guard = flat.accesses[access].guard;
  return std::any_of(guard.begin(), guard.end(), [&](const math::RangeConstraint& constraint) {
    return !constraint.poly.coefficient(index).is_zero();
  });
}

// Returns whether a read differs along the index in its position or in its guard.
bool DependsOn(const poly::FlatContraction& flat, const poly::FlatAccess& place, int access,
               int index) {
  return place.strides[index] != 0 || IsGuardedAlong(flat, access, index);
}

}  // namespace

std::vector<int> PrefetchedIndices(const poly::FlatContraction& flat, const GpuPlan& product,
                                   int access) {
  const poly::FlatAccess place = poly::Flatten(flat, access);
  std::vector<int> indices;
  for (int i = 0; i < static_cast<int>(product.splits.size()); ++i) {
    if (product.OwnCount(i) > 1 && DependsOn(flat, place, access, i)) indices.push_back(i);
  }
  return indices;
}

int64_t PrefetchedVectors(const poly::FlatContraction& flat, const GpuPlan& product, int access) {
  const Unrolling unrolling = product.Unroll(flat);
  if (product.StepCount(flat) != 1 || unrolling.from != 0 || unrolling.iterations != 1 ||
      IsStaged(product, access) || poly::FindRead(flat.body, access) == nullptr) {
    return 0;
  }
  // A vector must be read as a whole or not at all.
  const int lane = product.lane_index;
  if (!flat.constraints.empty()) return 0;
  if (lane >= 0 && (flat.indices[lane].range % product.splits[lane].tile() != 0 ||
                    IsGuardedAlong(flat, access, lane))) {
    return 0;
  }
  // Vectors along other reduced indices belong to staged tiles.
  for (int i = flat.output_index_count; i < static_cast<int>(product.splits.size()); ++i) {
    if (product.splits[i].vector > 1 && i != product.lane_index) return 0;
  }
  int64_t vectors = 1;
  for (int i : PrefetchedIndices(flat, product, access)) vectors *= product.OwnCount(i);
  return vectors;
}

int64_t PrefetchedLanes(const poly::FlatContraction& flat, const GpuPlan& product, int access) {
  const int lane = product.lane_index;
  return lane >= 0 && poly::Flatten(flat, access).strides[lane] != 0 ? product.splits[lane].vector
                                                                     : 1;
}

void PrefetchGemmOperands(const std::vector<poly::RowKernel>& kernels,
                          const HardwareSettings& settings, RowGroupPlan* plan) {
  if (plan->GroupCount() > std::max<int64_t>(settings.compute_units, 1)) return;
  const std::set<ir::ValueId> written = poly::ResultsInMemory(kernels);
  int64_t left = kMaxRegisters;
  for (size_t s = 0; s < kernels.size(); ++s) {
    RowGroupStage& stage = plan->stages[s];
    const GpuPlan* product = stage.ByWorkItems();
    if (product == nullptr) continue;
    const poly::FlatContraction& flat = stage.block.flat;
    for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
      const int tensor = flat.accesses[a].tensor;
      const poly::Tensor& read = flat.tensors[tensor];
      if (kernels[s].tensors[tensor] >= 0 || written.count(read.value) > 0) continue;
      const int64_t registers =
          PrefetchedVectors(flat, *product, a) * PrefetchedLanes(flat, *product, a);
      if (registers == 0 || registers > std::min(left, kMaxOfAccess) ||
          ByteWidth(read.shape.type) > 4)
        continue;
      left -= registers;
      stage.fetched.push_back(a);
    }
  }
}

}  // namespace tartan::plan
