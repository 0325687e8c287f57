// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/dual_gemm.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/base/match.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/matrix/matrix_search.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

using poly::FlatContraction;

// Returns whether both kernels sum over the same points.
bool HaveSamePoints(const FlatContraction& a, const FlatContraction& b) {
  const auto is_plain = [](const FlatContraction& flat) {
    return flat.is_reduction() && flat.second_body == nullptr && flat.store_guard.empty() &&
           !flat.may_be_empty;
  };
  const auto ranges = [](const FlatContraction& flat) {
    std::vector<int64_t> result;
    for (const poly::Index& index : flat.indices) result.push_back(index.range);
    return result;
  };
  return is_plain(a) && is_plain(b) && a.output_index_count == b.output_index_count &&
         ranges(a) == ranges(b) && a.constraints == b.constraints;
}

poly::FlatAccess PlaceOf(const FlatContraction& flat) {
  return poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()));
}

class DualGemmFusion {
 public:
  DualGemmFusion(const PlannedKernel& reader, const PlannedKernel& producer, ir::ValueId result)
      : reader_(reader.flat), producer_(producer.flat), result_(result), flat_(reader.flat) {}

  // Returns the fused kernel. Empty if `reader` reads the result at other positions than its own.
  std::optional<FlatContraction> Run() {
    if (!IsReadInPlace()) return std::nullopt;
    flat_.second_body = FromProducer(producer_.body);
    const poly::ExprPtr value = FromProducer(producer_.outputs.front().expr);
    for (poly::Output& output : flat_.outputs) {
      output.expr = poly::MapLeaves(output.expr, [&](const poly::ExprPtr& leaf) {
        const auto* read = std::get_if<poly::Read>(&leaf->node);
        return read != nullptr && IsResult(read->access) ? value : leaf;
      });
    }
    poly::DropUnread(&flat_);
    flat_.comments.insert(flat_.comments.begin(), producer_.comments.begin(),
                          producer_.comments.end());
    return std::move(flat_);
  }

 private:
  // Returns whether an access of the reader reads the producer's result.
  bool IsResult(int access) const {
    return access < static_cast<int>(reader_.accesses.size()) &&
           reader_.tensors[reader_.accesses[access].tensor].value == result_;
  }

  bool IsReadInPlace() const {
    const poly::FlatAccess place = PlaceOf(producer_);
    bool is_read = false;
    for (int a = 0; a < static_cast<int>(reader_.accesses.size()); ++a) {
      if (!IsResult(a)) continue;
      is_read = true;
      if (!reader_.accesses[a].guard.empty() || !(poly::Flatten(reader_, a) == place) ||
          poly::FindRead(reader_.body, a) != nullptr) {
        return false;
      }
    }
    bool is_computed_place = false;
    for (const FlatContraction* flat : {&reader_, &producer_}) {
      poly::VisitExprs(*flat, [&](const poly::Expr& expr) {
        is_computed_place |= std::holds_alternative<poly::ReadAt>(expr.node);
      });
    }
    return is_read && !is_computed_place;
  }

  poly::ExprPtr FromProducer(const poly::ExprPtr& expr) {
    return poly::MapLeaves(expr, [&](const poly::ExprPtr& leaf) {
      if (std::holds_alternative<poly::Accumulator>(leaf->node)) {
        return poly::MakeExpr(leaf->type, poly::Accumulator{.number = 1});
      }
      const auto* read = std::get_if<poly::Read>(&leaf->node);
      if (read == nullptr) return leaf;
      return poly::MakeExpr(leaf->type,
                            poly::Read{poly::AddAccess(producer_, read->access, &flat_)});
    });
  }

  const FlatContraction& reader_;
  const FlatContraction& producer_;
  const ir::ValueId result_;
  FlatContraction flat_;
};

// Returns whether both accesses read tensors of the same type at the same positions.
bool AreAlike(const FlatContraction& a, int access, const FlatContraction& b, int other) {
  return a.tensors[a.accesses[access].tensor].shape.type ==
             b.tensors[b.accesses[other].tensor].shape.type &&
         poly::Flatten(a, access) == poly::Flatten(b, other);
}

// Returns whether both operands are equal except for the access.
bool LoadAlike(MatrixOperand a, const MatrixOperand& b) {
  a.access = b.access;
  return a == b;
}

}  // namespace

std::optional<PlannedKernel> FuseDualGemm(const PlannedKernel& reader,
                                          const PlannedKernel& producer, ir::ValueId result,
                                          const HardwareSettings& settings) {
  const auto* own = std::get_if<MatrixPlan>(&reader.plan);
  const auto* other = std::get_if<MatrixPlan>(&producer.plan);
  if (own == nullptr || other == nullptr || own->second || other->second) return std::nullopt;
  if (own->format != other->format || own->rows != other->rows || own->columns != other->columns ||
      own->batch != other->batch || own->reduced != other->reduced ||
      !LoadAlike(own->left, other->left) || !LoadAlike(own->right, other->right)) {
    return std::nullopt;
  }
  // The producer's result must have the type of its sums, because the fused kernel does not round
  // it.
  if (!HaveSamePoints(reader.flat, producer.flat) || producer.flat.outputs.size() != 1 ||
      producer.flat.outputs.front().shape.type != DataType::kFloat32 ||
      !(PlaceOf(reader.flat) == PlaceOf(producer.flat))) {
    return std::nullopt;
  }
  if (poly::FindAccess(reader.flat, producer.flat, other->left.access) != own->left.access ||
      !AreAlike(reader.flat, own->right.access, producer.flat, other->right.access)) {
    return std::nullopt;
  }
  std::optional<FlatContraction> flat = DualGemmFusion(reader, producer, result).Run();
  if (!flat.has_value()) return std::nullopt;
  MatrixPlan plan = *own;
  plan.second = other->right;
  plan.left.access = poly::FindAccess(*flat, reader.flat, own->left.access);
  plan.right.access = poly::FindAccess(*flat, reader.flat, own->right.access);
  plan.second->access = poly::FindAccess(*flat, producer.flat, other->right.access);
  const std::optional<MatrixPlan> tiled = ChooseMatrixTiles(*flat, plan, settings);
  if (!tiled.has_value() ||
      tiled->cost.microseconds >= own->cost.microseconds + other->cost.microseconds) {
    return std::nullopt;
  }
  PlannedKernel pair;
  pair.flat = *std::move(flat);
  pair.predicted_us = tiled->cost.microseconds;
  pair.cost = tiled->cost.ToString();
  pair.plan = *tiled;
  return pair;
}

}  // namespace tartan::plan
