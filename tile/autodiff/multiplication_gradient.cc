// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/multiplication_gradient.h"

#include <utility>
#include <vector>

namespace tartan::autodiff {
namespace {

using ir::SpecialKind;

// Shifts `x` by `offset` along `axis`: element i of the result is element i - offset of `x`, or of
// `fill` if there is none. The result has the dimensions of `fill`.
ValueId Shift(Emitter& emit, ValueId x, int64_t axis, int64_t offset, ValueId fill) {
  const TensorShape shape = emit.shape(x);
  ir::Contraction shift;
  shift.aggregation = Aggregation::kAssign;
  shift.index_names = IndexNames(shape.rank());
  shift.output.indices = Variables(shape.rank());
  math::Affine& moved = shift.output.indices[axis];
  moved = moved + math::Affine::Constant(offset);
  shift.inputs = {{x, Variables(shape.rank())}};
  shift.default_value = fill;
  return emit.Contract(std::move(shift), emit.shape(fill).dims);
}

// Segmented inclusive scan: multiplies each element with all earlier ones (later ones for direction
// -1) of its segment, by doubling distances. `same(offset)`: whether an element and the one
// `offset` before it are in one segment.
template <typename Same>
ValueId Scan(Emitter& emit, ValueId x, int direction, Same&& same) {
  const TensorShape shape = emit.shape(x);
  const ValueId ones = emit.Ones(shape);
  for (int64_t distance = 1; distance < shape.dims[0]; distance *= 2) {
    const int64_t offset = direction * distance;
    const ValueId before = Shift(emit, x, 0, offset, ones);
    x = emit.Mul(x, emit.Select(same(offset), before, emit.Integer(1)));
  }
  return x;
}

}  // namespace

ValueId RowMultiplicationGradient(Emitter& emit, ValueId factors, ValueId gradient) {
  struct Halving {
    int64_t width;
    ValueId low;
    ValueId high;
  };
  const DataType type = emit.type(factors);
  const int64_t rows = emit.shape(factors).dims[0];
  int64_t width = emit.shape(factors).dims[1];
  if (width == 0) return factors;
  std::vector<Halving> halvings;
  for (ValueId rest = factors; width > 1;) {
    const int64_t half = (width + 1) / 2;
    const TensorShape shape{type, {rows, half}};
    const ValueId low = Shift(emit, rest, 1, 0, emit.Ones(shape));
    const ValueId high = Shift(emit, rest, 1, -half, emit.Ones(shape));
    halvings.push_back({width, low, high});
    rest = emit.Mul(low, high);
    width = half;
  }
  ValueId result = emit.Cast(emit.Reshape(gradient, {rows, 1}), type);
  for (; !halvings.empty(); halvings.pop_back()) {
    const Halving& level = halvings.back();
    const int64_t half = (level.width + 1) / 2;
    const ValueId by_low =
        Shift(emit, emit.Mul(result, level.high), 1, 0, emit.Zeros({type, {rows, level.width}}));
    result = Shift(emit, emit.Mul(result, level.low), 1, half, by_low);
  }
  return result;
}

ValueId RunningProductGradient(Emitter& emit, ValueId x, absl::Span<const int64_t> params,
                               ValueId gradient) {
  const int64_t axis = params[0];
  const bool exclusive = params[1] != 0;
  const int64_t direction = params[2] != 0 ? -1 : 1;
  const TensorShape shape = emit.shape(x);
  const ValueId ones = emit.Ones(shape);
  const ValueId zeros = emit.Zeros(shape);
  // Each step multiplies every element with the one `offset` before it.
  struct Step {
    int64_t offset;
    ValueId here;
    ValueId before;
  };
  std::vector<Step> steps;
  ValueId products = exclusive ? Shift(emit, x, axis, direction, ones) : x;
  for (int64_t distance = 1; distance < shape.dims[axis]; distance *= 2) {
    const int64_t offset = direction * distance;
    const ValueId before = Shift(emit, products, axis, offset, ones);
    steps.push_back({offset, products, before});
    products = emit.Mul(products, before);
  }
  ValueId result = gradient;
  for (; !steps.empty(); steps.pop_back()) {
    const Step& step = steps.back();
    result = emit.Add(emit.Mul(result, step.before),
                      Shift(emit, emit.Mul(result, step.here), axis, -step.offset, zeros));
  }
  return exclusive ? Shift(emit, result, axis, -direction, zeros) : result;
}

ValueId ProductsOfOthers(Emitter& emit, ValueId factors, ValueId keys) {
  // After sorting by key, the factors of a group are adjacent.
  const ValueId order = emit.Special(SpecialKind::kArgSort, {keys}, {0, 0, 0});
  const ValueId back = emit.Special(SpecialKind::kArgSort, {order}, {0, 0, 0});
  const ValueId groups = emit.Special(SpecialKind::kGather, {keys, order}, {0});
  const ValueId sorted = emit.Special(SpecialKind::kGather, {factors, order}, {0});
  const ValueId ones = emit.Ones(emit.shape(factors));
  // A key that no element has, because keys start at -1.
  const ValueId nothing = emit.Fill(emit.Typed(DataType::kInt64, -2), emit.shape(keys).dims);
  const auto same = [&](int64_t offset) {
    return emit.Equal(groups, Shift(emit, groups, 0, offset, nothing));
  };
  const auto others = [&](int direction) {
    const ValueId neighbour = Shift(emit, sorted, 0, direction, ones);
    const ValueId first = emit.Select(same(direction), neighbour, emit.Integer(1));
    return Scan(emit, first, direction, same);
  };
  return emit.Special(SpecialKind::kGather, {emit.Mul(others(1), others(-1)), back}, {0});
}

}  // namespace tartan::autodiff
