// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select/check_plan.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/compute_cost.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int kMaxLanes = 16;             // maximum lanes of a vector; OpenCL C
constexpr int64_t kMaxBlockVectors = 16;  // maximum block of a packed operand, in vectors

class PlanCheck {
 public:
  PlanCheck(const poly::FlatContraction& flat, const CpuPlan& plan,
            const HardwareSettings& settings)
      : flat_(flat), plan_(plan), settings_(settings) {}

  std::string Run() const {
    const std::string shape = CheckShape();
    if (!shape.empty()) return shape;
    const std::string vectors = CheckVectors();
    if (!vectors.empty()) return vectors;
    const CpuKernel kernel(flat_, settings_);
    for (int i = 0; i < IndexCount(); ++i) {
      const std::string index = CheckIndex(kernel, i);
      if (!index.empty()) return absl::StrCat("index ", flat_.indices[i].name, ": ", index);
    }
    if (plan_.block) {
      const std::string block = CheckBlock();
      if (!block.empty()) return block;
    }
    return FitsRegisters(kernel, plan_) ? "" : "the tile does not fit into registers";
  }

 private:
  int IndexCount() const { return static_cast<int>(flat_.indices.size()); }
  bool IsOutput(int i) const { return i < flat_.output_index_count; }

  // Returns whether `order` is a permutation of [begin, end).
  static bool IsOrderOf(std::vector<int> order, int begin, int end) {
    std::sort(order.begin(), order.end());
    if (static_cast<int>(order.size()) != end - begin) return false;
    for (int i = begin; i < end; ++i) {
      if (order[i - begin] != i) return false;
    }
    return true;
  }

  std::string CheckShape() const {
    if (plan_.task.size() != static_cast<size_t>(flat_.output_index_count) ||
        plan_.unroll.size() != flat_.indices.size()) {
      return "the plan belongs to a kernel with other indices";
    }
    if (!IsOrderOf(plan_.order, 0, flat_.output_index_count) ||
        !IsOrderOf(plan_.reduction_order, flat_.output_index_count, IndexCount())) {
      return "a loop is missing or repeated";
    }
    const bool is_cpu = settings_.threads == 1;
    const int64_t most = is_cpu ? 1 : settings_.max_work_group_size;
    if (plan_.threads < 1 || plan_.threads > most) {
      return absl::StrCat(plan_.threads, " work-items in a group; the limit is ", most);
    }
    return "";
  }

  std::string CheckVectors() const {
    const int v = plan_.vector_index;
    const bool is_power = plan_.lanes > 0 && (plan_.lanes & (plan_.lanes - 1)) == 0;
    if (!is_power || plan_.lanes > kMaxLanes) {
      return absl::StrCat("the device has no vectors of ", plan_.lanes);
    }
    if (v < -1 || v >= IndexCount() || (v >= 0) != (plan_.lanes > 1)) {
      return "the vectors have no index";
    }
    if (v < 0) return "";
    if (plan_.unroll[v] % plan_.lanes != 0) return "a tile is not a whole number of vectors";
    if (!IsOutput(v) && plan_.reduction_order.back() != v) {
      return "the loop over vectors of partial results is not the innermost";
    }
    if (flat_.is_reduction() && flat_.accumulator_type == DataType::kBool) {
      return "booleans cannot be vectorized";
    }
    return "";
  }

  std::string CheckIndex(const CpuKernel& kernel, int i) const {
    const int64_t range = std::max<int64_t>(flat_.indices[i].range, 1);
    const int64_t unroll = plan_.unroll[i];
    if (unroll < 1 || unroll > range) return absl::StrCat("a tile of ", unroll, " of ", range);
    if (unroll > 1 && flat_.needs_hits() && kernel.constrained[i]) {
      return "a tile would merge elements with and without a valid point";
    }
    if (!IsOutput(i)) {
      const bool fits = unroll == 1 || unroll == range || i == plan_.vector_index;
      return fits ? "" : "a reduced index is partly unrolled without vectors";
    }
    const int64_t task = plan_.task[i];
    if (task < 1 || task >= range + unroll || (task < range && task % unroll != 0)) {
      return absl::StrCat("a task of ", task, " in tiles of ", unroll);
    }
    return "";
  }

  // Requires that all other checks of the plan passed.
  std::string CheckBlock() const {
    const BlockPlan& block = *plan_.block;
    if (!flat_.is_reduction() || plan_.vector_index >= flat_.output_index_count) {
      return "a block needs a reduction whose results are vectors";
    }
    if (block.level < 0 || block.level > flat_.output_index_count)
      return "the level of the block is not a loop";
    if (block.chunk_index >= 0) {
      if (block.chunk_index < flat_.output_index_count || block.chunk_index >= IndexCount() ||
          block.chunk_length < 1 || block.chunk_length >= flat_.indices[block.chunk_index].range ||
          plan_.unroll[block.chunk_index] > 1) {
        return absl::StrCat("K chunks of ", block.chunk_length, " have no reduced index");
      }
      if (!CanSplitIntoChunks(flat_)) return "the reduction cannot be divided into K chunks";
    } else if (block.chunk_index != -1 || block.chunk_length != 0) {
      return "K chunks have no index";
    }
    for (size_t s = 0; s < block.staged.size(); ++s) {
      const int access = block.staged[s];
      if (access < 0 || access >= static_cast<int>(flat_.accesses.size()) ||
          (s > 0 && access <= block.staged[s - 1]) || !CanStage(flat_, access)) {
        return absl::StrCat("access ", access, " cannot be staged");
      }
    }
    return PrivateBytes(flat_, plan_) <= kMaxPrivateBytes ? "" : "too much private memory";
  }

  const poly::FlatContraction& flat_;
  const CpuPlan& plan_;
  const HardwareSettings& settings_;
};

}  // namespace

std::string ReasonInvalid(const poly::FlatContraction& flat, const CpuPlan& plan,
                          const HardwareSettings& settings) {
  return PlanCheck(flat, plan, settings).Run();
}

bool MayPack(const poly::FlatContraction& flat, int access, int index, int64_t block,
             const HardwareSettings& settings) {
  if (!flat.is_reduction() || access < 0 || access >= static_cast<int>(flat.accesses.size()) ||
      index < 0 || index >= flat.output_index_count) {
    return false;
  }
  const int64_t range = flat.indices[index].range;
  if (block < settings.vector_width || block > kMaxBlockVectors * settings.vector_width ||
      block % settings.vector_width != 0 || block >= range + settings.vector_width) {
    return false;
  }
  bool reads_at_computed = false;
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    reads_at_computed |= std::holds_alternative<poly::ReadAt>(expr.node);
  });
  return (range % block == 0 || !reads_at_computed) && poly::CanPack(flat, access, index);
}

}  // namespace tartan::plan
