#include "tile/lower/expr_emitter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/poly/coords.h"

namespace tartan::lower {

sem::ExprPtr IndexEmitter::Emit(const math::Affine& poly) const {
  sem::ExprPtr sum;
  for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
    const int64_t coefficient = poly.coefficient(i).numerator();
    if (coefficient == 0) continue;
    sem::ExprPtr term = sem::Mul(values_[i], Number(coefficient));
    sum = sum == nullptr ? term : sem::Add(sum, term);
  }
  const sem::ExprPtr constant = Number(poly.constant.numerator());
  return sum == nullptr ? constant : sem::Add(sum, constant);
}

sem::ExprPtr IndexEmitter::Emit(const poly::FlatAccess& access) const {
  math::Affine poly = math::Affine::Constant(access.offset);
  for (size_t i = 0; i < access.strides.size(); ++i) {
    if (access.strides[i] != 0) poly.set_coefficient(static_cast<int>(i), access.strides[i]);
  }
  return Emit(poly);
}

sem::ExprPtr IndexEmitter::Condition(const math::RangeConstraint& constraint) const {
  const auto [least, greatest] = poly::ValueRange(constraint.poly, flat_.indices);
  const sem::ExprPtr value = Emit(constraint.poly);
  sem::ExprPtr condition;
  if (least < 0) condition = sem::ApplyOp(ScalarOp::kGreaterEqual, {value, Number(0)});
  if (greatest >= constraint.range) {
    const sem::ExprPtr below = sem::Less(value, Number(constraint.range));
    condition = condition == nullptr ? below : sem::And(condition, below);
  }
  return condition;
}

void ExprEmitter::Count(const poly::ExprPtr& expr) {
  if (++uses_[expr.get()] > 1) return;
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    for (const poly::ExprPtr& operand : apply->operands) Count(operand);
  } else if (const auto* read = std::get_if<poly::ReadAt>(&expr->node)) {
    for (const poly::ExprPtr& coordinate : read->coordinates) Count(coordinate);
  }
}

sem::ExprPtr ExprEmitter::Name(sem::ExprPtr value) {
  const std::string name = absl::StrCat(prefix_, next_name_++);
  const sem::Type type = value->type;
  block_->push_back(sem::MakeDeclare(type, name, std::move(value)));
  return sem::Var(name, type);
}

sem::ExprPtr ExprEmitter::Emit(const poly::ExprPtr& expr) {
  if (auto it = emitted_.find(expr.get()); it != emitted_.end()) return it->second;
  sem::ExprPtr value = EmitNew(*expr);
  const bool trivial = std::holds_alternative<poly::Literal>(expr->node) ||
                       std::holds_alternative<poly::Accumulator>(expr->node);
  if (uses_[expr.get()] > 1 && !trivial) value = Name(std::move(value));
  emitted_.emplace(expr.get(), value);
  return value;
}

sem::ExprPtr ExprEmitter::EmitNew(const poly::Expr& expr) {
  return Match(
      expr.node,
      [&](const poly::Literal& literal) {
        if (const auto* i = std::get_if<int64_t>(&literal.value)) {
          if (expr.type == DataType::kBool) return sem::Bool(*i != 0);
          if (IsFloat(expr.type)) return sem::Float(static_cast<double>(*i), expr.type);
          return sem::Int(*i, expr.type);
        }
        return sem::Float(std::get<double>(literal.value), expr.type);
      },
      [&](const poly::Read& read) { return EmitRead(flat_.accesses[read.access]); },
      [&](const poly::Accumulator&) { return accumulator_; },
      [&](const poly::Coordinate& coordinate) {
        return sem::Cast(indices_.Emit(coordinate.poly), expr.type);
      },
      [&](const poly::Apply& apply) {
        std::vector<sem::ExprPtr> operands;
        for (const poly::ExprPtr& operand : apply.operands) operands.push_back(Emit(operand));
        if (apply.op == ScalarOp::kCast) return sem::Cast(operands[0], expr.type);
        return sem::ApplyOp(apply.op, std::move(operands));
      },
      [&](const poly::InRange& in_range) {
        sem::ExprPtr condition = EmitConditions(in_range.constraints);
        return condition == nullptr ? sem::Bool(true) : condition;
      },
      [&](const poly::ReadAt& read) { return EmitReadAt(read); });
}

sem::ExprPtr ExprEmitter::EmitConditions(const std::vector<math::RangeConstraint>& constraints) {
  std::string key;
  for (const math::RangeConstraint& constraint : constraints) {
    absl::StrAppend(&key, constraint.ToString(), "|");
  }
  if (auto it = conditions_.find(key); it != conditions_.end()) return it->second;
  sem::ExprPtr all;
  for (const math::RangeConstraint& constraint : constraints) {
    sem::ExprPtr condition = indices_.Condition(constraint);
    if (condition == nullptr) continue;
    all = all == nullptr ? condition : sem::And(all, condition);
  }
  if (all != nullptr) all = Name(all);
  conditions_.emplace(key, all);
  return all;
}

sem::ExprPtr ExprEmitter::EmitRead(const poly::TensorAccess& access) {
  const poly::Tensor& tensor = flat_.tensors[access.tensor];
  const poly::FlatAccess flat = poly::Flatten(access.coords, tensor.shape.dims,
                                              static_cast<int>(flat_.indices.size()));
  return Load(access.tensor, indices_.Emit(flat), access.guard);
}

sem::ExprPtr ExprEmitter::Load(int tensor, sem::ExprPtr index,
                               const std::vector<math::RangeConstraint>& guard) {
  // Outside the guard the first element is read instead: a load is never out of bounds.
  if (const sem::ExprPtr condition = EmitConditions(guard); condition != nullptr) {
    index = sem::Select(condition, index, indices_.Number(0));
  }
  return sem::LoadFrom(absl::StrCat("in", tensor), flat_.tensors[tensor].shape.type,
                       std::move(index));
}

sem::ExprPtr ExprEmitter::EmitReadAt(const poly::ReadAt& read) {
  const poly::Tensor& tensor = flat_.tensors[read.tensor];
  const std::vector<int64_t> strides = RowMajorStrides(tensor.shape.dims);
  sem::ExprPtr index = indices_.Number(0);
  for (size_t d = 0; d < strides.size(); ++d) {
    const sem::ExprPtr coordinate = sem::Cast(Emit(read.coordinates[d]), indices_.type());
    index = sem::Add(index, sem::Mul(coordinate, indices_.Number(strides[d])));
  }
  return Load(read.tensor, std::move(index), read.guard);
}

}  // namespace tartan::lower
