// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/unroll.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tile/poly/coords.h"
#include "tile/poly/expr_mapper.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;

ExprPtr Number(double value, DataType type) {
  if (IsFloat(type)) return MakeExpr(type, Literal{value});
  return MakeExpr(type, Literal{static_cast<int64_t>(value)});
}

// Returns the identity element of the aggregation.
ExprPtr Identity(Aggregation aggregation, DataType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (aggregation) {
    case Aggregation::kProduct:
      return Number(1, type);
    case Aggregation::kMax:
      if (IsFloat(type)) return Number(-kInfinity, type);
      return MakeExpr(type, Literal{MinInteger(type)});
    case Aggregation::kMin:
      if (IsFloat(type)) return Number(kInfinity, type);
      return MakeExpr(type, Literal{MaxInteger(type)});
    default:
      return Number(0, type);
  }
}

// Replaces reads by `accesses` and the accumulator by `total`, which may be null.
ExprMapper PointMapper(std::vector<ExprPtr> accesses, ExprPtr total) {
  ExprMapper::Parts parts;
  parts.leaf = [accesses = std::move(accesses), total = std::move(total)](const ExprPtr& leaf) {
    if (const auto* read = std::get_if<Read>(&leaf->node)) return accesses[read->access];
    return std::holds_alternative<Accumulator>(leaf->node) ? total : leaf;
  };
  return ExprMapper(std::move(parts));
}

// Builds a kernel without reduced indices: the body is the aggregation of the terms of all points.
class Rewriter {
 public:
  explicit Rewriter(const FlatContraction& flat) : flat_(flat), result_(flat) {
    result_.indices.resize(flat.output_index_count);
    result_.accesses.clear();
    result_.aggregation = Aggregation::kSum;
    result_.accumulator_type = DataType::kInvalid;
    result_.body = nullptr;
    result_.constraints.clear();
    result_.may_be_empty = false;
  }

  FlatContraction Run() {
    const int count = static_cast<int>(flat_.indices.size());
    ExprPtr total = Identity(flat_.aggregation, flat_.accumulator_type);
    std::vector<int64_t> point(count, 0);
    bool is_left = true;
    for (int i = flat_.output_index_count; i < count; ++i) is_left &= flat_.indices[i].range > 0;
    while (is_left) {
      total = Aggregate(std::move(total), point);
      int i = count - 1;
      while (i >= flat_.output_index_count && ++point[i] == flat_.indices[i].range) point[i--] = 0;
      is_left = i >= flat_.output_index_count;
    }
    const FlatContraction epilogue = At(std::vector<int64_t>(count, 0));
    ExprMapper exprs = PointMapper(Accesses(epilogue, OutputReads()), std::move(total));
    for (size_t o = 0; o < result_.outputs.size(); ++o) {
      result_.outputs[o].expr = exprs.Map(epilogue.outputs[o].expr);
    }
    result_.output_coords = epilogue.output_coords;
    result_.store_guard = epilogue.store_guard;
    return std::move(result_);
  }

 private:
  // Returns the kernel with the reduced indices fixed to `point`.
  FlatContraction At(const std::vector<int64_t>& point) const {
    return MapPolys(flat_, [&](const Affine& poly) {
      Affine mapped = Affine::Constant(poly.constant);
      for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
        const math::Rational coefficient = poly.coefficient(i);
        if (coefficient.is_zero()) continue;
        if (i < flat_.output_index_count) mapped.set_coefficient(i, coefficient);
        if (i >= flat_.output_index_count)
          mapped.constant = mapped.constant + coefficient * point[i];
      }
      return mapped;
    });
  }

  std::vector<bool> OutputReads() const {
    FlatContraction outputs = flat_;
    outputs.body = nullptr;
    return ReadsOf(outputs);
  }

  static std::vector<bool> ReadsOf(const FlatContraction& flat) {
    std::vector<bool> is_read(flat.accesses.size(), false);
    VisitExprs(flat, [&](const Expr& expr) {
      if (const auto* read = std::get_if<Read>(&expr.node)) is_read[read->access] = true;
    });
    return is_read;
  }

  // Adds one point to the aggregation.
  ExprPtr Aggregate(ExprPtr total, const std::vector<int64_t>& point) {
    FlatContraction at = At(point);
    at.outputs.clear();
    at.empty_value = nullptr;
    InRange valid;
    for (const RangeConstraint& constraint : at.constraints) {
      const auto [least, greatest] = ValueRange(constraint.poly, result_.indices);
      if (greatest < 0 || least >= constraint.range) return total;
      if (least < 0 || greatest >= constraint.range) valid.constraints.push_back(constraint);
    }
    const DataType type = flat_.accumulator_type;
    ExprMapper exprs = PointMapper(Accesses(at, ReadsOf(at)), nullptr);
    ExprPtr sum = MakeApply(AggregationOp(flat_.aggregation), type, {total, exprs.Map(at.body)});
    if (valid.constraints.empty()) return sum;
    return MakeApply(
        ScalarOp::kSelect, type,
        {MakeExpr(DataType::kBool, std::move(valid)), std::move(sum), std::move(total)});
  }

  // Returns reads of the accesses marked in `used`; equal accesses are added once. A read is
  // guarded if some index values would leave the tensor.
  std::vector<ExprPtr> Accesses(const FlatContraction& at, const std::vector<bool>& used) {
    std::vector<ExprPtr> reads(at.accesses.size());
    for (size_t a = 0; a < at.accesses.size(); ++a) {
      if (!used[a]) continue;
      TensorAccess access = at.accesses[a];
      const TensorShape& shape = flat_.tensors[access.tensor].shape;
      for (size_t d = 0; d < access.coords.size(); ++d) {
        access.guard.push_back({access.coords[d], shape.dims[d]});
      }
      std::erase_if(access.guard, [&](const RangeConstraint& guard) {
        return IsImplied(guard, result_.indices);
      });
      reads[a] = ReadOf(std::move(access));
    }
    return reads;
  }

  ExprPtr ReadOf(TensorAccess access) {
    for (size_t a = 0; a < result_.accesses.size(); ++a) {
      const TensorAccess& other = result_.accesses[a];
      if (other.tensor == access.tensor && other.coords == access.coords &&
          other.guard == access.guard) {
        return reads_[a];
      }
    }
    const DataType type = ComputeType(flat_.tensors[access.tensor].shape.type);
    reads_.push_back(MakeExpr(type, Read{static_cast<int>(result_.accesses.size())}));
    result_.accesses.push_back(std::move(access));
    return reads_.back();
  }

  const FlatContraction& flat_;
  FlatContraction result_;
  std::vector<ExprPtr> reads_;  // per access of the result
};

}  // namespace

bool CanUnroll(const FlatContraction& flat) {
  if (!flat.is_reduction() || flat.needs_hits() || flat.aggregation == Aggregation::kAssign ||
      flat.accumulator_type == DataType::kBool || flat.body->type != flat.accumulator_type) {
    return false;
  }
  int64_t points = 1;
  for (size_t i = flat.output_index_count; i < flat.indices.size(); ++i) {
    points *= flat.indices[i].range;
    if (points > kMaxUnrolledPoints) return false;
  }
  // At invalid points, computed coordinates could be arbitrary.
  bool reads_at_computed = false;
  VisitExprs(flat, [&](const Expr& expr) {
    reads_at_computed |= std::holds_alternative<ReadAt>(expr.node);
  });
  return !reads_at_computed;
}

bool MultipliesReads(const FlatContraction& flat) {
  const auto* apply = std::get_if<Apply>(&flat.body->node);
  if (apply == nullptr || apply->op != ScalarOp::kMul) return false;
  return std::all_of(apply->operands.begin(), apply->operands.end(),
                     [](const ExprPtr& e) { return std::holds_alternative<Read>(e->node); });
}

FlatContraction Unroll(const FlatContraction& flat) { return Rewriter(flat).Run(); }

}  // namespace tartan::poly
