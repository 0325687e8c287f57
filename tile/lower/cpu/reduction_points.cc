// SPDX-License-Identifier: Apache-2.0
// The part of Reduction that computes the points of a tile; reduction.cc has the loops.
#include <algorithm>
#include <memory>
#include <utility>

#include "tile/lower/cpu/panel_prefetch.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/valid_lanes.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

}  // namespace

std::vector<Reduction::Point> Reduction::Points(bool is_tail) const {
  std::vector<Point> points;
  for (size_t p = 0; p < positions_.size(); ++p) {
    for (int64_t partial = 0; partial < (is_tail ? 1 : partials()); ++partial) {
      points.push_back({positions_[p], AccumulatorName(p, partial, is_tail)});
      if (VectorIsReduced()) points.back().position[plan_.vector_index] = partial * plan_.lanes;
    }
  }
  bool has_unrolled = false;
  for (int i : plan_.reduction_order) {
    if (!plan::IsUnrolled(flat_, plan_, i)) continue;
    has_unrolled = true;
    std::vector<Point> spread;
    for (int64_t value = 0; value < plan_.unroll[i]; ++value) {
      for (const Point& point : points) {
        spread.push_back(point);
        spread.back().position[i] = value;
      }
    }
    points = std::move(spread);
  }
  if (has_unrolled) {
    GroupBySharedElement(&points);
  } else {
    OrderRowsOutermost(&points);
  }
  return points;
}

// Orders the points row by row: vectors stay in registers, and values that are the same for all
// lanes are in a register for one row at a time (plan::FitsRegisters assumes this).
void Reduction::OrderRowsOutermost(std::vector<Point>* points) const {
  const int v = plan_.vector_index;
  if (v < 0 || v >= flat_.output_index_count) return;
  std::vector<bool> is_row(static_cast<size_t>(flat_.output_index_count), true);
  is_row[static_cast<size_t>(v)] = false;
  for (const poly::TensorAccess& access : flat_.accesses) {
    const std::vector<int64_t> strides =
        poly::Flatten(access.coords, flat_.tensors[access.tensor].shape.dims,
                      static_cast<int>(flat_.indices.size()))
            .strides;
    if (strides[static_cast<size_t>(v)] == 0) continue;
    for (size_t i = 0; i < is_row.size(); ++i) is_row[i] = is_row[i] && strides[i] == 0;
  }
  std::stable_sort(points->begin(), points->end(), [&](const Point& a, const Point& b) {
    for (size_t i = 0; i < is_row.size(); ++i) {
      if (is_row[i] && a.position[i] != b.position[i]) return a.position[i] < b.position[i];
    }
    return false;
  });
}

// Makes points that read the same element consecutive, so that it occupies a register only briefly.
void Reduction::GroupBySharedElement(std::vector<Point>* points) const {
  const int count = static_cast<int>(flat_.indices.size());
  for (const poly::TensorAccess& access : flat_.accesses) {
    const std::vector<int64_t> strides =
        poly::Flatten(access.coords, flat_.tensors[access.tensor].shape.dims, count).strides;
    bool slides = false;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      for (int reduced : plan_.reduction_order) {
        slides |= plan_.unroll[i] > (i == plan_.vector_index ? plan_.lanes : 1) &&
                  plan::IsUnrolled(flat_, plan_, reduced) &&
                  plan::Slides(flat_, strides, i, reduced);
      }
    }
    if (!slides) continue;
    const auto place = [&](const Point& point) {
      int64_t sum = 0;
      for (size_t i = 0; i < strides.size(); ++i) sum += strides[i] * point.position[i];
      return sum;
    };
    std::stable_sort(points->begin(), points->end(),
                     [&](const Point& a, const Point& b) { return place(a) < place(b); });
    return;
  }
}

StmtPtr Reduction::Accumulate(bool checked, bool is_tail) {
  std::vector<StmtPtr> statements;
  const std::vector<Point> points = Points(is_tail);
  std::vector<Position> positions;
  for (const Point& point : points) positions.push_back(point.position);
  const VectorShape vector = {plan_.vector_index, is_tail ? 1 : plan_.lanes};
  std::vector<math::RangeConstraint> decided;
  std::vector<math::RangeConstraint> others;
  if (checked) {
    for (const math::RangeConstraint& constraint : OpenConstraints()) {
      (IsDecided(indices_, constraint) ? decided : others).push_back(constraint);
    }
  }
  const auto make_emitter = [&](const char* prefix) {
    auto emitter =
        std::make_unique<ExprEmitter>(flat_, indices_, vector, positions, prefix, &statements);
    if (block_ != nullptr) {
      for (auto& [access, read] : block_->Reads()) emitter->ReadStaged(access, read);
    }
    emitter->Count(Body());
    return emitter;
  };
  const auto emitter = make_emitter("t");
  emitter->CheckReads(others);
  // for points that some decided constraint excludes in part
  const auto careful = make_emitter("c");
  if (!decided.empty()) careful->CheckReads(OpenConstraints());
  for (const Point& point : points) {
    const ExprPtr value = decided.empty() ? Checked(point.position, others, emitter.get())
                                          : Decided(point.position, vector, decided, others,
                                                    emitter.get(), careful.get());
    if (value == nullptr) continue;
    const ExprPtr old = loop::Var(point.accumulator, AccumulatorType(is_tail));
    statements.push_back(loop::MakeAssign(point.accumulator, Aggregate(old, value)));
  }
  if (flat_.needs_hits()) statements.push_back(loop::MakeAssign("hit", loop::Int(1)));
  if (!is_tail && !checked && !plan_.reduction_order.empty()) {
    const bool has_chunks = block_ != nullptr && block_->has_chunks();
    const ExprPtr begin = has_chunks ? block_->Begin(plan_.block->chunk_index) : indices_.Number(0);
    for (StmtPtr& fetch : PrefetchNextPanel(flat_, plan_, indices_, begin)) {
      statements.push_back(std::move(fetch));
    }
  }
  return loop::MakeBlock(std::move(statements));
}

ExprPtr Reduction::Checked(const Position& position,
                           const std::vector<math::RangeConstraint>& constraints,
                           ExprEmitter* emitter) const {
  emitter->MoveTo(position);
  ExprPtr value = emitter->Emit(Body());
  const ExprPtr valid = emitter->EmitConditions(constraints);
  if (valid == nullptr) return value;
  const ExprPtr identity = Identity(flat_.aggregation, flat_.accumulator_type);
  const int lanes = std::max(valid->type.lanes, value->type.lanes);
  return loop::Select(valid, loop::Splat(value, lanes), loop::Splat(identity, lanes));
}

// A partly valid vector is computed at a nearby position where all lanes are valid, then its lanes
// move.
ExprPtr Reduction::Decided(const Position& position, const VectorShape& vector,
                           const std::vector<math::RangeConstraint>& decided,
                           const std::vector<math::RangeConstraint>& others, ExprEmitter* emitter,
                           ExprEmitter* careful) const {
  const LaneRange valid = ValidLanes(indices_, decided, vector, position);
  if (valid.empty()) return nullptr;
  if (valid.begin == 0 && valid.end == vector.lanes) {
    return Checked(position, others, emitter);
  }
  const auto distance = DistanceToValid(flat_, indices_, decided, vector, position);
  if (!distance) return Checked(position, OpenConstraints(), careful);
  Position moved = position;
  moved[vector.index] += *distance;
  std::vector<int> lanes;
  for (int lane = 0; lane < vector.lanes; ++lane) {
    const bool is_valid = lane >= valid.begin && lane < valid.end;
    lanes.push_back(is_valid ? lane - *distance : vector.lanes + lane);
  }
  return loop::MakeShuffle(
      loop::Splat(Checked(moved, others, emitter), vector.lanes),
      loop::Splat(Identity(flat_.aggregation, flat_.accumulator_type), vector.lanes),
      std::move(lanes));
}

std::vector<StmtPtr> Reduction::EndScaledChunk() {
  std::vector<StmtPtr> statements;
  const VectorShape vector = {plan_.vector_index, plan_.lanes};
  ExprEmitter emitter(flat_, indices_, vector, positions_, "s", &statements);
  emitter.Count(factor_->factor);
  std::vector<std::string> sums = AccumulatorNames();
  --depth_;
  for (size_t p = 0; p < positions_.size(); ++p) {
    emitter.MoveTo(positions_[p]);
    const std::string total = AccumulatorName(p, 0, false);
    const loop::Type type = AccumulatorType(false);
    const ExprPtr factor = loop::Splat(emitter.Emit(factor_->factor), plan_.lanes);
    statements.push_back(loop::MakeAssign(
        total, loop::MulAdd(factor, loop::Var(sums[p], type), loop::Var(total, type))));
  }
  return statements;
}

ExprPtr Reduction::Aggregate(const ExprPtr& old, const ExprPtr& value) const {
  const auto* apply = std::get_if<loop::Apply>(&value->node);
  if (flat_.aggregation == Aggregation::kSum && IsFloat(flat_.accumulator_type) &&
      apply != nullptr && apply->op == ScalarOp::kMul) {
    return loop::MulAdd(apply->operands[0], apply->operands[1], old);
  }
  return loop::ApplyOp(poly::AggregationOp(flat_.aggregation), {old, value});
}

}  // namespace tartan::lower
