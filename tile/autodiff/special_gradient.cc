// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tile/autodiff/multiplication_gradient.h"
#include "tile/autodiff/rules.h"

namespace tartan::autodiff {
namespace {

using ir::SpecialKind;

constexpr auto kAdd = static_cast<int64_t>(ir::ScatterMode::kAdd);
constexpr auto kAssign = static_cast<int64_t>(ir::ScatterMode::kAssign);

// Converts positions to the range 0 to size - 1, as a gather does. `size` is a value that
// broadcasts.
ValueId ReadPositions(Emitter& e, ValueId indices, ValueId size) {
  const ValueId wide = e.Cast(indices, DataType::kInt64);
  const ValueId is_negative = e.Apply(ScalarOp::kLess, {wide, e.Integer(0)});
  const ValueId from_start = e.Select(is_negative, e.Add(wide, size), wide);
  const ValueId last = e.Sub(size, e.Integer(1));
  return e.Apply(ScalarOp::kMax, {e.Apply(ScalarOp::kMin, {from_start, last}), e.Integer(0)});
}

// Gradient of a gather along `axis`: a scatter along axis 0, followed by a transpose.
ValueId GatherAxisGradient(Emitter& e, const ir::Special& op, ValueId gradient) {
  const TensorShape data = e.shape(op.operands[0]);
  const int64_t axis = op.params[0];
  const int64_t index_rank = e.shape(op.operands[1]).rank();
  const ValueId positions = ReadPositions(e, op.operands[1], e.Integer(data.dims[axis]));
  // Axes of the gradient: the axes of the indices, then the data's axes before and after `axis`.
  std::vector<int64_t> order(e.shape(gradient).rank());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + index_rank);
  const ValueId like = e.Zeros({e.type(gradient), {data.dims[axis]}});
  const ValueId scattered =
      e.Special(SpecialKind::kScatter, {e.Transpose(gradient, order), positions, like}, {});
  std::vector<int64_t> back(data.rank());
  std::iota(back.begin(), back.end(), 0);
  std::rotate(back.begin(), back.begin() + 1, back.begin() + axis + 1);
  return e.Transpose(scattered, back);
}

// Returns the full coordinates that gather_nd reads, including the batch dimensions, one row per
// position.
ValueId FullPositions(Emitter& e, const ir::Special& op) {
  const std::vector<int64_t> data = e.shape(op.operands[0]).dims;
  const std::vector<int64_t> dims = e.shape(op.operands[1]).dims;
  const int64_t batch = op.params[0];
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  ir::Contraction shift;
  shift.aggregation = Aggregation::kAssign;
  shift.index_names = IndexNames(last + 1);
  shift.output.indices = Variables(last + 1);
  shift.output.indices[last] = shift.output.indices[last] + math::Affine::Constant(batch);
  shift.inputs = {{op.operands[1], Variables(last + 1)}};
  std::vector<int64_t> full = dims;
  full[last] += batch;
  const ValueId shifted = e.Cast(e.Contract(std::move(shift), full), DataType::kInt64);

  const ValueId column = e.Special(SpecialKind::kIndex, {shifted}, {last});
  ValueId size = e.Integer(1);
  for (int64_t d = 0; d < full[last]; ++d) {
    size = e.Select(e.Equal(column, e.Integer(d)), e.Integer(data[d]), size);
  }
  ValueId positions = ReadPositions(e, shifted, size);
  for (int64_t d = 0; d < batch; ++d) {
    const ValueId coordinate = e.Special(SpecialKind::kIndex, {shifted}, {d});
    positions = e.Select(e.Equal(column, e.Integer(d)), coordinate, positions);
  }
  return positions;
}

// Gradient of gathers with respect to the data.
ValueId GatherGradient(Emitter& emit, const ir::Special& op, ValueId gradient) {
  const TensorShape data = {emit.type(gradient), emit.shape(op.operands[0]).dims};
  const ValueId indices = op.operands[1];
  switch (op.kind) {
    case SpecialKind::kGather:
      return GatherAxisGradient(emit, op, gradient);
    case SpecialKind::kGatherElements: {
      const ValueId positions = ReadPositions(emit, indices, emit.Integer(data.dims[op.params[0]]));
      return emit.Special(SpecialKind::kScatterElements, {emit.Zeros(data), positions, gradient},
                          {op.params[0], kAdd});
    }
    default:
      return emit.Special(SpecialKind::kScatterNd,
                          {emit.Zeros(data), FullPositions(emit, op), gradient}, {kAdd});
  }
}

// Returns the results of the user's rule, which belong to the float operands in order.
Parts CustomGradient(Emitter& emit, const ir::Special& op, const Site& site) {
  Parts parts(op.operands.size(), ir::kNoValue);
  if (op.rule == nullptr) return parts;
  std::vector<ValueId> arguments(op.operands.begin() + 1, op.operands.end());
  arguments.push_back(site.value);
  arguments.push_back(site.gradient);
  const std::vector<ValueId> results = emit.Program(*op.rule, arguments);
  size_t next = 0;
  for (size_t i = 1; i < op.operands.size() && next < results.size(); ++i) {
    if (IsFloat(emit.type(op.operands[i]))) parts[i] = results[next++];
  }
  return parts;
}

}  // namespace

Parts SpecialGradient(Emitter& emit, const ir::Special& op, const Site& site) {
  Parts parts(op.operands.size(), ir::kNoValue);
  const ValueId g = site.gradient;
  switch (op.kind) {
    case SpecialKind::kIndex:
    case SpecialKind::kArgSort:
    case SpecialKind::kPrng:
      break;
    case SpecialKind::kReshape:
      parts[0] = emit.Reshape(g, emit.shape(op.operands[0]).dims);
      break;
    case SpecialKind::kGather:
    case SpecialKind::kGatherElements:
    case SpecialKind::kGatherNd:
      if (site.wanted[0]) parts[0] = GatherGradient(emit, op, g);
      break;
    case SpecialKind::kScatter:
    case SpecialKind::kScatterElements:
    case SpecialKind::kScatterNd:
      return ScatterGradient(emit, op, site);
    case SpecialKind::kSort: {
      const ValueId order =
          emit.Special(SpecialKind::kArgSort, op.operands, {op.params[0], op.params[1], 0});
      parts[0] = emit.Special(SpecialKind::kScatterElements, {emit.Zeros(emit.shape(g)), order, g},
                              {op.params[0], kAssign});
      break;
    }
    case SpecialKind::kCumSum:
      parts[0] = emit.Special(SpecialKind::kCumSum, {g},
                              {op.params[0], op.params[1], op.params[2] == 0 ? 1 : 0});
      break;
    case SpecialKind::kCumProd:
      parts[0] = RunningProductGradient(emit, op.operands[0], op.params, g);
      break;
    case SpecialKind::kCustomGradient:
      return CustomGradient(emit, op, site);
  }
  return parts;
}

}  // namespace tartan::autodiff
