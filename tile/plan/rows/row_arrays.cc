// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_arrays.h"

#include <algorithm>
#include <numeric>

#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

class ArraySharer {
 public:
  ArraySharer(const std::vector<poly::RowKernel>& kernels,
              const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan)
      : kernels_(kernels), tensors_(tensors), plan_(plan), arrays_(tensors.size()) {
    std::iota(arrays_.begin(), arrays_.end(), 0);
  }

  std::vector<int> Run() {
    std::vector<int> begun;  // stages whose results have arrays of their own
    for (size_t s = 0; s < kernels_.size(); ++s) {
      const int stage = static_cast<int>(s);
      if (kernels_[s].output < 0 || !plan_.stages[s].stores) continue;
      const auto found = std::find_if(begun.begin(), begun.end(),
                                      [&](int before) { return MayReuseArray(before, stage); });
      if (found == begun.end()) {
        begun.push_back(stage);
      } else {
        arrays_[kernels_[s].output] = kernels_[*found].output;
      }
    }
    return arrays_;
  }

 private:
  TensorShape ShapeOf(int stage) const {
    const poly::RowKernel& kernel = kernels_[stage];
    return tensors_[kernel.output].Shape(kernel.flat.outputs[0].shape.type, plan_.block);
  }

  // Returns whether `stage` may reuse the array of `before`. No later stage may read it, and every
  // earlier reader must be finished or be the same work-item at the same position.
  bool MayReuseArray(int before, int stage) const {
    if (!plan_.RunInSameLoop(before, stage) || IsCarried(before) || IsCarried(stage)) return false;
    const TensorShape from = ShapeOf(before);
    const TensorShape to = ShapeOf(stage);
    if (from.type != to.type || from.element_count() < to.element_count()) return false;
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
      if (arrays_[t] != kernels_[before].output) continue;
      for (int reader = 0; reader < static_cast<int>(kernels_.size()); ++reader) {
        if (!Reads(reader, t)) continue;
        if (reader == stage ? !ReadsWhereItWrites(stage, t) : !IsDone(reader, stage)) return false;
      }
    }
    return true;
  }

  // Returns whether the result is carried from one block of keys to the next.
  bool IsCarried(int stage) const {
    const poly::OnlineRole role = plan_.stages[stage].role;
    return role == poly::OnlineRole::kMaximum || role == poly::OnlineRole::kSum;
  }

  bool Reads(int stage, int tensor) const {
    const poly::RowKernel& kernel = kernels_[stage];
    return std::find(kernel.tensors.begin(), kernel.tensors.end(), tensor) != kernel.tensors.end();
  }

  // Returns whether a barrier separates the reader from the stage.
  bool IsDone(int reader, int stage) const {
    if (reader > stage) return false;
    if (plan_.Threads() == 1) return true;
    for (int s = reader; s < stage; ++s) {
      const RowGroupStage& between = plan_.stages[s];
      const bool joins = between.block.flat.is_reduction() && !between.product.has_value() &&
                         plan_.row_threads > 1;
      if (joins || between.is_read_from_memory) return true;
    }
    return false;
  }

  // Returns whether the stage reads each element only at the position that it writes, by the same
  // work-item.
  bool ReadsWhereItWrites(int stage, int tensor) const {
    const RowGroupStage& at = plan_.stages[stage];
    const poly::FlatContraction& flat = at.block.flat;
    if (flat.is_reduction() || at.inner.empty()) return false;
    const int count = static_cast<int>(flat.indices.size());
    const poly::FlatAccess written = poly::Flatten(flat.output_coords, flat.output_dims, count);
    for (const poly::TensorAccess& access : flat.accesses) {
      if (kernels_[stage].tensors[access.tensor] != tensor) continue;
      const std::vector<int64_t>& dims = flat.tensors[access.tensor].shape.dims;
      if (!(poly::Flatten(access.coords, dims, count) == written)) return false;
    }
    bool reads_anywhere = false;
    poly::VisitExprs(flat, [&](const poly::Expr& expr) {
      const auto* read = std::get_if<poly::ReadAt>(&expr.node);
      reads_anywhere |= read != nullptr && kernels_[stage].tensors[read->tensor] == tensor;
    });
    return !reads_anywhere;
  }

  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const RowGroupPlan& plan_;
  std::vector<int> arrays_;
};

}  // namespace

std::vector<int> ShareArrays(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors,
                             const RowGroupPlan& plan) {
  return ArraySharer(kernels, tensors, plan).Run();
}

}  // namespace tartan::plan
