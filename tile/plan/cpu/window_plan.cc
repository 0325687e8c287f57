// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/window_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/cpu/propose.h"
#include "tile/poly/coords.h"
#include "tile/poly/unroll.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxValues = 40;  // maximum points times vectors of a tile; more make long code
// Maximum range of an index that is unrolled because it decides which points count.
constexpr int64_t kMaxSteps = 3;

// Returns whether index i alone decides if the constraint holds.
bool IsDecidedBy(const math::RangeConstraint& constraint, const poly::FlatContraction& flat,
                 int i) {
  for (int o = 0; o < flat.output_index_count; ++o) {
    if ((o == i) == constraint.poly.coefficient(o).is_zero()) return false;
  }
  return true;
}

class WindowPlanner {
 public:
  WindowPlanner(const poly::FlatContraction& merged, const HardwareSettings& settings)
      : merged_(merged),
        settings_(settings),
        flat_(poly::Unroll(merged)),
        kernel_(flat_, settings),
        plan_(ScalarPlan(flat_, settings.threads)) {}

  std::optional<PlannedKernel> Run() {
    if (!ChooseVectors() || !ReadsVectors()) return std::nullopt;
    UnrollDecided();
    plan_.masks_lanes = true;
    ChooseTasks();
    const CpuCost cost = Cost();
    PlannedKernel planned = Propose(kernel_, std::move(plan_), cost);
    planned.is_unrolled = true;
    return planned;
  }

 private:
  int64_t Range(int i) const { return flat_.indices[i].range; }
  const std::vector<int64_t>& OutputStrides() const { return kernel_.writes.front().strides; }

  // Chooses vectors along the contiguous output index, or along one of stride 2 with an index of
  // two values between.
  bool ChooseVectors() {
    int64_t lanes = std::min<int64_t>(settings_.vector_width, 16);
    lanes = std::max<int64_t>(lanes * 4 / kernel_.element_bytes, 2);
    for (int i = 0; i < flat_.output_index_count; ++i) {
      const int64_t stride = OutputStrides()[i];
      if (stride == 1 && Range(i) == 2) {
        plan_.unroll[i] = 2;
      } else if ((stride == 1 || stride == 2) && Range(i) >= lanes) {
        plan_.vector_index = i;
      }
    }
    const int v = plan_.vector_index;
    if (v < 0) return false;
    plan_.lanes = static_cast<int>(lanes);
    plan_.unroll[v] = lanes;
    const int64_t between = std::count(plan_.unroll.begin(), plan_.unroll.end(), 2);
    return OutputStrides()[v] == 1 + between;
  }

  // Returns whether all reads load whole vectors.
  bool ReadsVectors() const {
    return std::all_of(kernel_.reads.begin(), kernel_.reads.end(), [&](const auto& read) {
      const int64_t stride = read.strides[plan_.vector_index];
      return stride == 0 || stride == 1 || (stride == 2 && plan_.lanes >= cpu::kWideLanes);
    });
  }

  // Unrolls short indices that alone decide which points count. Each of their values then computes
  // only its own points.
  void UnrollDecided() {
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (i == plan_.vector_index || plan_.unroll[i] > 1 || Range(i) > kMaxSteps) continue;
      const bool is_decided =
          std::any_of(merged_.constraints.begin(), merged_.constraints.end(),
                      [&](const auto& c) { return IsDecidedBy(c, merged_, i); });
      if (is_decided && ValueCount() * Range(i) <= kMaxValues) plan_.unroll[i] = Range(i);
    }
  }

  int64_t Points() const { return merged_.point_count() / merged_.output_point_count(); }

  int64_t ValueCount() const {
    int64_t count = Points();
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (i != plan_.vector_index) count *= plan_.unroll[i];
    }
    return count;
  }

  // Orders loops like the output and divides the outermost until every core has work.
  void ChooseTasks() {
    std::stable_sort(plan_.order.begin(), plan_.order.end(), [&](int a, int b) {
      return std::abs(OutputStrides()[a]) > std::abs(OutputStrides()[b]);
    });
    for (int i = 0; i < flat_.output_index_count; ++i) plan_.task[i] = Range(i);
    CutTasks(flat_, kernel_.machine.TaskCount(Cost().total()), &plan_);
  }

  CpuCost Cost() const {
    // Cycles of a vector operation or load; measured on counts.
    constexpr double kVectorCycles = 0.58;
    CpuCost cost;
    double operations = kernel_.epilogue_operations;
    for (const CpuKernel::Access& read : kernel_.reads) {
      operations += read.strides[plan_.vector_index] == 2 ? 4 : 1;
    }
    cost.epilogue =
        static_cast<double>(flat_.output_point_count()) / plan_.lanes * operations * kVectorCycles;
    double bytes = static_cast<double>(flat_.output_point_count()) *
                   ByteWidth(flat_.outputs.front().shape.type);
    for (size_t t = 0; t < flat_.tensors.size(); ++t) bytes += BytesRead(static_cast<int>(t));
    cost.AddStreams(bytes, cpu::kMemoryBytesPerCycle);
    return cost;
  }

  // Bytes between the first and the last element that is read: rows of a fused kernel are part of a
  // tensor.
  double BytesRead(int tensor) const {
    const TensorShape& shape = flat_.tensors[tensor].shape;
    int64_t elements = 0;
    for (const poly::TensorAccess& access : flat_.accesses) {
      if (access.tensor != tensor) continue;
      const auto [least, greatest] = poly::ValueRange(access.coords.front(), flat_.indices);
      elements = std::max(elements, greatest - least + 1);
    }
    return static_cast<double>(std::min(elements, shape.element_count())) * ByteWidth(shape.type);
  }

  const poly::FlatContraction& merged_;
  const HardwareSettings& settings_;
  const poly::FlatContraction flat_;
  const CpuKernel kernel_;
  CpuPlan plan_;
};

}  // namespace

std::optional<PlannedKernel> WindowPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings) {
  if (merged.output_point_count() == 0 || merged.point_count() == 0 || !poly::CanUnroll(merged) ||
      !merged.store_guard.empty() || merged.outputs.size() != 1 || poly::MultipliesReads(merged)) {
    return std::nullopt;
  }
  return WindowPlanner(merged, settings).Run();
}

}  // namespace tartan::plan
