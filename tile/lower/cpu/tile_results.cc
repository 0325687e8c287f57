// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/tile_results.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

namespace {

StmtPtr Guarded(const ExprPtr& condition, std::vector<StmtPtr> statements) {
  StmtPtr block = loop::MakeBlock(std::move(statements));
  return condition == nullptr ? block : loop::MakeIf(condition, std::move(block));
}

}  // namespace

TileResults::TileResults(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                         IndexEmitter& indices, Reduction* reduction)
    : IndexBuilder(indices.index_type()),
      flat_(flat),
      plan_(plan),
      indices_(indices),
      reduction_(reduction),
      positions_(OutputPositions(flat, plan)),
      store_(flat, plan, indices) {}

StmtPtr TileResults::Emit() {
  const std::vector<math::RangeConstraint> varying = ConstraintsThatVaryByLane();
  const std::vector<int> may_be_short = MayBeShort();
  if (varying.empty() && may_be_short.empty()) return StoreTile(flat_.store_guard, false);
  std::vector<math::RangeConstraint> assumed = flat_.store_guard;
  for (const math::RangeConstraint& constraint : varying) {
    if (std::find(assumed.begin(), assumed.end(), constraint) == assumed.end()) {
      assumed.push_back(constraint);
    }
  }
  if (may_be_short.empty()) {
    return loop::MakeIf(indices_.HoldsAcross(assumed, LastPosition()), StoreTile(assumed, true),
                        StoreLanes());
  }
  ExprPtr is_whole =
      varying.empty() ? loop::Bool(true) : indices_.HoldsAcross(assumed, LastPosition());
  for (int i : may_be_short) {
    const ExprPtr range = indices_.Size(RangeRole(i), flat_.indices[i].range);
    is_whole = loop::And(is_whole,
                         loop::ApplyOp(ScalarOp::kGreaterEqual, {range, Number(plan_.unroll[i])}));
  }
  return loop::MakeIf(is_whole, StoreTile(assumed, !varying.empty()), StoreElements(may_be_short));
}

std::vector<int> TileResults::MayBeShort() const {
  std::vector<int> indices;
  if (reduction_ != nullptr || !indices_.has_size_arguments()) return indices;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    // An index that is 0 throughout the tile's loops is unrolled completely.
    if (plan_.unroll[i] > 1 && !loop::LiteralValue(indices_.value(i))) indices.push_back(i);
  }
  return indices;
}

VectorShape TileResults::VectorOutput() const {
  const bool is_output = plan_.vector_index >= 0 && plan_.vector_index < flat_.output_index_count;
  return is_output ? VectorShape{plan_.vector_index, plan_.lanes} : VectorShape{};
}

std::vector<math::RangeConstraint> TileResults::ConstraintsThatVaryByLane() const {
  std::vector<math::RangeConstraint> varying;
  const VectorShape vector = VectorOutput();
  if (vector.lanes == 1) return varying;
  const auto add = [&](const std::vector<math::RangeConstraint>& constraints) {
    for (const math::RangeConstraint& constraint : constraints) {
      if (constraint.poly.coefficient(vector.index).is_zero()) continue;
      if (std::find(varying.begin(), varying.end(), constraint) == varying.end()) {
        varying.push_back(constraint);
      }
    }
  };
  add(flat_.store_guard);
  poly::FlatContraction epilogue = flat_;
  epilogue.body = nullptr;
  poly::VisitExprs(epilogue, [&](const poly::Expr& expr) {
    if (const auto* read = std::get_if<poly::Read>(&expr.node)) {
      add(flat_.accesses[read->access].guard);
    } else if (const auto* in_range = std::get_if<poly::InRange>(&expr.node)) {
      if (!plan_.masks_lanes) add(in_range->constraints);
    } else if (const auto* read_at = std::get_if<poly::ReadAt>(&expr.node)) {
      add(read_at->guard);
    }
  });
  return varying;
}

Position TileResults::LastPosition() const {
  Position last = positions_.back();
  const VectorShape vector = VectorOutput();
  if (vector.lanes > 1) last[vector.index] += vector.lanes - 1;
  return last;
}

StmtPtr TileResults::StoreTile(const std::vector<math::RangeConstraint>& assumed, bool is_inside) {
  if (!is_inside && !flat_.store_guard.empty()) {
    std::vector<StmtPtr> statements;
    for (size_t p = 0; p < positions_.size(); ++p) statements.push_back(StoreGuarded(p));
    return loop::MakeBlock(std::move(statements));
  }
  std::vector<StmtPtr> statements;
  ExprEmitter emitter(flat_, indices_, VectorOutput(), positions_, "e", &statements);
  emitter.Assume(assumed);
  emitter.AssumeWholeTile(WholeTile());
  if (plan_.masks_lanes) emitter.MaskLanes();
  CountRoots(&emitter);
  store_.BeginTile();
  for (size_t p = 0; p < positions_.size(); ++p) {
    ExprPtr total = reduction_ ? reduction_->Total(static_cast<int>(p), &statements) : nullptr;
    StorePosition(p, VectorOutput().lanes, std::move(total), &emitter, &statements);
  }
  for (StmtPtr& store : store_.EndTile()) statements.push_back(std::move(store));
  return loop::MakeBlock(std::move(statements));
}

// If sizes are arguments, a reduction's tile may have only one row.
std::vector<int64_t> TileResults::WholeTile() const {
  std::vector<int64_t> sizes = plan_.unroll;
  for (int i = 0; i < flat_.output_index_count && reduction_ != nullptr; ++i) {
    if (indices_.has_size_arguments() && i != plan_.vector_index) sizes[i] = 1;
  }
  return sizes;
}

StmtPtr TileResults::StoreGuarded(size_t p) {
  std::vector<StmtPtr> statements;
  ExprEmitter emitter(flat_, indices_, VectorOutput(), {positions_[p]}, absl::StrCat("e", p, "_"),
                      &statements);
  emitter.Assume(flat_.store_guard);
  CountRoots(&emitter);
  ExprPtr total = reduction_ ? reduction_->Total(static_cast<int>(p), &statements) : nullptr;
  StorePosition(p, VectorOutput().lanes, std::move(total), &emitter, &statements);
  return Guarded(GuardAt(positions_[p]), std::move(statements));
}

StmtPtr TileResults::StoreLanes() {
  const VectorShape vector = VectorOutput();
  std::vector<StmtPtr> statements;
  for (size_t p = 0; p < positions_.size(); ++p) {
    const std::string held = absl::StrCat("held", p);
    const ExprPtr lane = Var("lane");
    ExprPtr total;
    if (reduction_) {
      statements.push_back(loop::MakeArray({flat_.accumulator_type, 1}, held, vector.lanes));
      statements.push_back(loop::MakeStore(held, flat_.accumulator_type, Number(0),
                                           reduction_->Total(static_cast<int>(p), &statements)));
      total = loop::LoadFrom(held, flat_.accumulator_type, lane);
    }
    const ExprPtr begin = indices_.value(vector.index);
    indices_.Set(vector.index, loop::Add(begin, lane));
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, {}, {positions_[p]}, "e", &body);
    emitter.Assume(flat_.store_guard);
    CountRoots(&emitter);
    StorePosition(p, 1, std::move(total), &emitter, &body);
    StmtPtr guarded = Guarded(GuardAt(positions_[p]), std::move(body));
    indices_.Set(vector.index, begin);
    statements.push_back(
        loop::MakeFor("lane", Number(0), Number(vector.lanes), std::move(guarded)));
  }
  return loop::MakeBlock(std::move(statements));
}

StmtPtr TileResults::StoreElements(const std::vector<int>& may_be_short) {
  std::vector<ExprPtr> begins;
  for (int i : may_be_short) {
    const ExprPtr& begin = begins.emplace_back(indices_.value(i));
    indices_.Set(i, loop::Add(begin, Var(absl::StrCat("element", i))));
  }
  std::vector<StmtPtr> statements;
  for (size_t p = 0; p < positions_.size(); ++p) {
    const bool is_first = std::all_of(may_be_short.begin(), may_be_short.end(),
                                      [&](int i) { return positions_[p][i] == 0; });
    if (!is_first) continue;
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, {}, {positions_[p]}, "s", &body);
    emitter.Assume(flat_.store_guard);
    CountRoots(&emitter);
    StorePosition(p, 1, nullptr, &emitter, &body);
    statements.push_back(Guarded(GuardAt(positions_[p]), std::move(body)));
  }
  StmtPtr elements = loop::MakeBlock(std::move(statements));
  for (size_t n = may_be_short.size(); n-- > 0;) {
    const int i = may_be_short[n];
    const int64_t count = std::min(plan_.unroll[i], flat_.indices[i].range);
    elements =
        loop::MakeFor(absl::StrCat("element", i), Number(0),
                      indices_.Size(absl::StrCat("elements ", i), count), std::move(elements));
    indices_.Set(i, begins[n]);
  }
  return elements;
}

void TileResults::StorePosition(size_t p, int lanes, ExprPtr total, ExprEmitter* emitter,
                                std::vector<StmtPtr>* statements) {
  emitter->MoveTo(positions_[p]);
  if (total != nullptr) total = Result(std::move(total), p, emitter, statements);
  emitter->MoveTo(positions_[p], {total});
  std::vector<StmtPtr> stores;
  for (size_t o = 0; o < flat_.outputs.size(); ++o) {
    const ExprPtr value = emitter->Emit(flat_.outputs[o].expr);
    for (StmtPtr& store : store_.Emit(o, positions_[p], lanes, value, statements)) {
      stores.push_back(std::move(store));
    }
  }
  statements->insert(statements->end(), stores.begin(), stores.end());
}

ExprPtr TileResults::GuardAt(const Position& position) const {
  ExprPtr all;
  for (const math::RangeConstraint& guard : flat_.store_guard) {
    ExprPtr inside = indices_.Condition(guard, ShiftAt(guard.poly, position));
    if (inside != nullptr) all = all == nullptr ? inside : loop::And(all, inside);
  }
  return all;
}

void TileResults::CountRoots(ExprEmitter* emitter) const {
  for (const poly::Output& output : flat_.outputs) emitter->Count(output.expr);
  if (flat_.empty_value != nullptr) emitter->Count(flat_.empty_value);
}

ExprPtr TileResults::Result(ExprPtr value, size_t position, ExprEmitter* emitter,
                            std::vector<StmtPtr>* statements) const {
  if (flat_.needs_hits()) {
    ExprPtr empty = flat_.empty_value != nullptr
                        ? emitter->Emit(flat_.empty_value)
                        : Identity(Aggregation::kSum, flat_.accumulator_type);
    value = loop::Select(reduction_->Hit(), value, loop::Splat(empty, value->type.lanes));
  }
  if (std::holds_alternative<loop::Variable>(value->node)) return value;
  const std::string name =
      absl::StrCat("result", positions_.size() > 1 ? absl::StrCat(position) : "");
  const loop::Type type = value->type;
  statements->push_back(loop::MakeDeclare(type, name, std::move(value)));
  return loop::Var(name, type);
}

}  // namespace tartan::lower
