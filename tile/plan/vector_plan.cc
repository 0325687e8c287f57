#include "tile/plan/vector_plan.h"

#include <algorithm>
#include <vector>

namespace tartan::plan {
namespace {

// Vectors that accumulate at a time: what the register file of an x86 core holds beside operands.
constexpr int64_t kAccumulators = 12;

bool IsVectorOp(ScalarOp op) {
  switch (op) {
    case ScalarOp::kIdentity:
    case ScalarOp::kNeg:
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
      return true;
    default:
      return false;
  }
}

// Float32 arithmetic on plain reads.
bool IsVectorBody(const poly::FlatContraction& flat, const poly::ExprPtr& expr) {
  if (expr->type != DataType::kFloat32) return false;
  if (const auto* read = std::get_if<poly::Read>(&expr->node)) {
    const poly::TensorAccess& access = flat.accesses[read->access];
    return access.guard.empty() &&
           flat.tensors[access.tensor].shape.type == DataType::kFloat32;
  }
  if (std::holds_alternative<poly::Literal>(expr->node)) return true;
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  return apply != nullptr && IsVectorOp(apply->op) &&
         std::all_of(apply->operands.begin(), apply->operands.end(),
                     [&](const poly::ExprPtr& operand) { return IsVectorBody(flat, operand); });
}

void CollectReads(const poly::ExprPtr& expr, std::vector<int>* reads) {
  if (const auto* read = std::get_if<poly::Read>(&expr->node)) reads->push_back(read->access);
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    for (const poly::ExprPtr& operand : apply->operands) CollectReads(operand, reads);
  }
}

class VectorPlanner {
 public:
  VectorPlanner(const poly::FlatContraction& flat, const HardwareSettings& settings,
                KernelPlan* plan)
      : flat_(flat), settings_(settings), plan_(plan) {
    std::vector<int> reads;
    CollectReads(flat.body, &reads);
    for (int read : reads) {
      const poly::TensorAccess& access = flat.accesses[read];
      accesses_.push_back(poly::Flatten(access.coords, flat.tensors[access.tensor].shape.dims,
                                        static_cast<int>(flat.indices.size())));
    }
  }

  void Choose(int contiguous) {
    const int last = static_cast<int>(flat_.indices.size()) - 1;
    if (contiguous >= 0 && IsContiguousAlong(contiguous) && Lanes(contiguous) >= 4) {
      AlongOutput(contiguous);
    } else if (last >= flat_.output_index_count && IsContiguousAlong(last) && Lanes(last) >= 4) {
      plan_->vector_reduced = true;
      plan_->register_index = -1;
      plan_->lanes = static_cast<int>(Lanes(last));
      SetBlock(BestBlock(last, -1), 1);
    }
  }

 private:
  // Every read is constant or steps by one element, and at least one does.
  bool IsContiguousAlong(int index) const {
    bool any = false;
    for (const poly::FlatAccess& access : accesses_) {
      if (access.strides[index] != 0 && access.strides[index] != 1) return false;
      any |= access.strides[index] == 1;
    }
    return any;
  }

  // The widest vector that fits the index's range.
  int64_t Lanes(int index) const {
    int64_t lanes = std::min<int64_t>(settings_.vector_width, 16);
    while (lanes > flat_.indices[index].range) lanes /= 2;
    return lanes;
  }

  void AlongOutput(int index) {
    const int64_t range = flat_.indices[index].range;
    const int64_t lanes = Lanes(index);
    const int block = BestBlock(index, index);
    // Work that counts, times multiplications per loaded operand.
    auto score = [&](int64_t vectors) {
      const int64_t tile = vectors * lanes;
      const double covered = static_cast<double>((range + tile - 1) / tile * tile);
      const double rows = static_cast<double>(BlockSize(block, vectors));
      return static_cast<double>(range) / covered * rows * static_cast<double>(vectors) /
             (rows + static_cast<double>(vectors));
    };
    int64_t best = 1;
    for (int64_t vectors = 2; vectors <= 4 && vectors * lanes <= range; ++vectors) {
      if (score(vectors) > score(best)) best = vectors;
    }
    plan_->register_index = index;
    plan_->lanes = static_cast<int>(lanes);
    plan_->tile[index] = best * lanes;
    SetBlock(block, best);
  }

  // The output index along which most vector loads stay the same, with a range worth it.
  int BestBlock(int vector_index, int excluded) const {
    int best = -1;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (i == excluded) continue;
      bool reuses = false;
      for (const poly::FlatAccess& access : accesses_) {
        reuses |= access.strides[vector_index] != 0 && access.strides[i] == 0;
      }
      if (reuses && BlockSize(i, 1) > BlockSize(best, 1)) best = i;
    }
    return best;
  }

  int64_t BlockSize(int index, int64_t vectors) const {
    if (index < 0) return 1;
    const int64_t range = flat_.indices[index].range;
    for (int64_t size = std::min<int64_t>(kAccumulators / vectors, 6); size > 1; --size) {
      if (range % size == 0) return size;
    }
    return 1;
  }

  void SetBlock(int index, int64_t vectors) {
    if (BlockSize(index, vectors) == 1) return;
    plan_->block_index = index;
    plan_->tile[index] = BlockSize(index, vectors);
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  KernelPlan* plan_;
  std::vector<poly::FlatAccess> accesses_;
};

}  // namespace

void ChooseVectors(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   int contiguous, KernelPlan* plan) {
  const bool eligible = flat.is_reduction() && flat.aggregation == Aggregation::kSum &&
                        flat.accumulator_type == DataType::kFloat32 && flat.constraints.empty() &&
                        flat.store_guard.empty() && flat.output_point_count() > 0 &&
                        IsVectorBody(flat, flat.body);
  if (eligible) VectorPlanner(flat, settings, plan).Choose(contiguous);
}

}  // namespace tartan::plan
