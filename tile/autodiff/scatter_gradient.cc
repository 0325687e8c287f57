// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tile/autodiff/multiplication_gradient.h"
#include "tile/autodiff/rules.h"

namespace tartan::autodiff {
namespace {

using ir::ScatterMode;
using ir::SpecialKind;

// The positions that a scatter writes to, for scattering and gathering other values.
class Places {
 public:
  Places(Emitter& emit, const ir::Special& op, ValueId data, ValueId updates)
      : emit_(emit), op_(op), data_(emit.shape(data)), updates_(emit.shape(updates)) {}

  // Scatters `updates` into `base` at the positions.
  ValueId Scatter(ValueId base, ValueId updates, ScatterMode mode) const {
    const auto number = static_cast<int64_t>(mode);
    if (op_.kind == SpecialKind::kScatterElements) {
      return emit_.Special(op_.kind, {base, indices(), updates}, {op_.params[0], number});
    }
    return emit_.Special(op_.kind, {base, indices(), updates}, {number});
  }

  // Gathers the elements of `tensor` at the positions; 0 for positions out of range.
  ValueId Gather(ValueId tensor) const {
    if (IsEmpty()) return emit_.Zeros({emit_.type(tensor), updates_.dims});
    return emit_.Where(Inside(), Read(tensor));
  }

  // Returns `tensor`, which has the dimensions of the updates, with 0 for skipped updates.
  ValueId WhereInside(ValueId tensor) const {
    return IsEmpty() ? tensor : emit_.Where(Inside(), tensor);
  }

  // Returns the row-major position of each update, as int64; -1 for positions out of range.
  ValueId LinearPositions() const {
    if (IsEmpty()) return emit_.Zeros({DataType::kInt64, updates_.dims});
    return emit_.Select(Inside(), Read(emit_.LinearIndex(data_.dims)), emit_.Integer(-1));
  }

 private:
  ValueId indices() const { return op_.operands[1]; }

  bool IsEmpty() const { return data_.element_count() == 0 || updates_.element_count() == 0; }

  ValueId Read(ValueId tensor) const {
    switch (op_.kind) {
      case SpecialKind::kScatter:
        return emit_.Special(SpecialKind::kGather, {tensor, indices()}, {0});
      case SpecialKind::kScatterElements:
        return emit_.Special(SpecialKind::kGatherElements, {tensor, indices()}, {op_.params[0]});
      default:
        return emit_.Special(SpecialKind::kGatherNd, {tensor, indices()}, {0});
    }
  }

  // Returns, per update (or for dimensions that broadcast to them), whether its position is in
  // range.
  ValueId Inside() const {
    const std::vector<int64_t> dims = emit_.shape(indices()).dims;
    if (op_.kind == SpecialKind::kScatterElements) {
      return InRange(emit_.Integer(data_.dims[op_.params[0]]));
    }
    if (op_.kind == SpecialKind::kScatter) {
      return WithTrailing(InRange(emit_.Integer(data_.dims[0])), dims);
    }
    const auto last = static_cast<int64_t>(dims.size()) - 1;
    const ValueId column = emit_.Special(SpecialKind::kIndex, {indices()}, {last});
    ValueId size = emit_.Integer(1);
    for (int64_t d = 0; d < dims[last]; ++d) {
      size =
          emit_.Select(emit_.Equal(column, emit_.Integer(d)), emit_.Integer(data_.dims[d]), size);
    }
    const ValueId outside = emit_.Apply(ScalarOp::kLogicalNot, InRange(size));
    ir::Contraction count;
    count.index_names = IndexNames(last + 1);
    count.output.indices = Variables(last);
    count.inputs = {{emit_.Cast(outside, DataType::kInt32), Variables(last + 1)}};
    const std::vector<int64_t> rows(dims.begin(), dims.end() - 1);
    return WithTrailing(emit_.Equal(emit_.Contract(std::move(count), rows), emit_.Integer(0)),
                        rows);
  }

  ValueId InRange(ValueId size) const {
    const ValueId wide = emit_.Cast(indices(), DataType::kInt64);
    return emit_.And(emit_.Apply(ScalarOp::kGreaterEqual, {wide, emit_.Neg(size)}),
                     emit_.Apply(ScalarOp::kLess, {wide, size}));
  }

  // Appends dimensions of size 1 up to the rank of the updates.
  ValueId WithTrailing(ValueId mask, std::vector<int64_t> dims) const {
    dims.resize(updates_.dims.size(), 1);
    return emit_.Reshape(mask, dims);
  }

  Emitter& emit_;
  const ir::Special& op_;
  TensorShape data_;
  TensorShape updates_;
};

struct DataAndUpdates {
  ValueId data;
  ValueId updates;
};

// Assign mode: the last of several updates of an element is kept.
DataAndUpdates AssignGradient(Emitter& e, const Places& places, const TensorShape& data,
                              const TensorShape& updates, ValueId g) {
  const ValueId mark = e.Add(e.LinearIndex(updates.dims), e.Integer(1));
  const ValueId last =
      places.Scatter(e.Zeros({DataType::kInt64, data.dims}), mark, ScatterMode::kAssign);
  const ValueId stays = e.Equal(places.Gather(last), mark);
  return {e.Where(e.Equal(last, e.Integer(0)), g), e.Where(stays, places.Gather(g))};
}

// Multiply mode: an element is its data times all its updates.
DataAndUpdates MultiplyGradient(Emitter& e, const Places& places, ValueId data, ValueId updates,
                                ValueId g) {
  const TensorShape shape = e.shape(updates);
  const ValueId by_data =
      e.Mul(g, places.Scatter(e.Ones(e.shape(data)), updates, ScatterMode::kMul));
  if (shape.element_count() == 0) return {by_data, e.Zeros(shape)};
  const std::vector<int64_t> flat = {shape.element_count()};
  const ValueId others =
      ProductsOfOthers(e, e.Reshape(updates, flat), e.Reshape(places.LinearPositions(), flat));
  return {by_data,
          places.WhereInside(e.Mul(places.Gather(e.Mul(g, data)), e.Reshape(others, shape.dims)))};
}

// Minimum and maximum mode: an element is the extremum of its data and its updates; the data comes
// first.
DataAndUpdates ExtremumGradient(Emitter& e, const Places& places, ValueId data, ValueId updates,
                                const Site& site) {
  const ValueId y = site.value;
  const ValueId g = site.gradient;
  const ValueId data_wins = e.Equal(data, y);
  const ValueId ones = e.Ones({DataType::kInt32, e.shape(updates).dims});
  // Positions out of range gather 0, which an update of 0 must not match.
  const ValueId inside = places.Gather(e.Ones({DataType::kInt32, e.shape(data).dims}));
  const ValueId update_wins = e.And(e.Equal(updates, places.Gather(y)), e.Equal(inside, ones));
  if (site.ties == Ties::kShare) {
    const ValueId winners =
        places.Scatter(e.Cast(data_wins, DataType::kInt32), e.Cast(update_wins, DataType::kInt32),
                       ScatterMode::kAdd);
    const ValueId share = e.Div(g, e.Apply(ScalarOp::kMax, {winners, e.Integer(1)}));
    return {e.Where(data_wins, share), e.Where(update_wins, places.Gather(share))};
  }
  const int64_t total = e.shape(updates).element_count();
  const ValueId from_end =
      e.Where(update_wins, e.Sub(e.Integer(total), e.LinearIndex(e.shape(updates).dims)));
  const ValueId base = e.Where(
      data_wins,
      e.Fill(e.Typed(DataType::kInt64, static_cast<double>(total) + 1), e.shape(data).dims));
  const ValueId first = places.Scatter(base, from_end, ScatterMode::kMax);
  const ValueId is_first = e.And(update_wins, e.Equal(places.Gather(first), from_end));
  return {e.Where(data_wins, g), e.Where(is_first, places.Gather(g))};
}

}  // namespace

Parts ScatterGradient(Emitter& emit, const ir::Special& op, const Site& site) {
  Parts parts(op.operands.size(), ir::kNoValue);
  const ValueId g = site.gradient;
  if (op.kind == SpecialKind::kScatter) {
    if (site.wanted[0]) parts[0] = Places(emit, op, site.value, op.operands[0]).Gather(g);
    return parts;
  }
  const ValueId data = op.operands[0];
  const ValueId updates = op.operands[2];
  const Places places(emit, op, data, updates);
  DataAndUpdates result{};
  switch (static_cast<ScatterMode>(op.params.back())) {
    case ScatterMode::kAssign:
      result = AssignGradient(emit, places, emit.shape(data), emit.shape(updates), g);
      break;
    case ScatterMode::kAdd:
      result = {g, places.Gather(g)};
      break;
    case ScatterMode::kMul:
      result = MultiplyGradient(emit, places, data, updates, g);
      break;
    case ScatterMode::kMin:
    case ScatterMode::kMax:
      result = ExtremumGradient(emit, places, data, updates, site);
      break;
  }
  parts[0] = result.data;
  parts[2] = result.updates;
  return parts;
}

}  // namespace tartan::autodiff
