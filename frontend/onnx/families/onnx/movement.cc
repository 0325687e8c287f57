// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements: transposition, slices, concatenation, repetition.
#include "frontend/onnx/families/shared/movement.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// `perm` defaults to the reverse order.
Outputs TransposeOperator(NodeContext& context) {
  const Tensor& x = context.input(0);
  std::vector<int64_t> perm(static_cast<size_t>(x.rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  TARTAN_ASSIGN_OR_RETURN(perm, context.Ints("perm", perm));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalAxes(perm, x.rank()));
  if (axes.size() != x.dims().size()) {
    return Invalid("perm ", DimsToString(perm), " does not permute ", x.shape().ToString());
  }
  for (int64_t& axis : perm) axis += axis < 0 ? x.rank() : 0;
  return OneTensor(Transpose(context, x, perm));
}

Outputs Concat(NodeContext& context) {
  const Tensor& first = context.input(0);
  // Opset 1 had 1 as the default.
  absl::StatusOr<int64_t> axis = context.opset() < 4 ? context.Int("axis", 1) : context.Int("axis");
  if (!axis.ok()) return axis.status();
  TARTAN_ASSIGN_OR_RETURN(*axis, NormalAxis(*axis, first.rank()));
  for (int i = 0; i < context.input_count(); ++i) {
    TensorShape shape = context.input(i).shape();
    if (shape.rank() == first.rank()) {
      shape.dims[static_cast<size_t>(*axis)] = first.dims()[static_cast<size_t>(*axis)];
    }
    if (shape == first.shape()) continue;
    return Invalid("operand ", i, " is ", context.input(i).shape().ToString(),
                   ", which cannot be concatenated with ", first.shape().ToString(), " along axis ",
                   *axis);
  }
  return OneTensor(ConcatOf(context, context.inputs(), *axis));
}

// One dimension of a slice. Negative positions count from the end, and positions outside are
// clamped. A backward slice that starts before the first element begins at the first element,
// unlike in Python.
void SetWindow(int64_t start, int64_t end, int64_t step, int64_t dim, size_t axis, Window* window) {
  const auto clamp = [&](int64_t i, int64_t low, int64_t high) {
    if (i < 0) i = i < -dim ? low : i + dim;
    return std::min(std::max(i, low), high);
  };
  int64_t count = 0;
  if (step > 0) {
    start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    count = end > start ? (end - start - 1) / step + 1 : 0;
  } else {
    start = clamp(start, 0, dim - 1);
    end = clamp(end, -1, dim - 1);
    count = start > end ? (start - end - 1) / -std::max(step, -dim - 1) + 1 : 0;
  }
  // Slices of fewer than two elements ignore the step, which may exceed the dimension.
  window->start[axis] = count > 0 ? start : 0;
  window->step[axis] = count > 1 ? step : 1;
  window->sizes[axis] = count;
}

Outputs Slice(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (!context.HasInput(1) || !context.HasInput(2)) return Invalid("starts or ends are missing");
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> starts, context.HostInts(1));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, context.HostInts(2));
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(axes, context.HostInts(3));
  }
  std::vector<int64_t> steps(starts.size(), 1);
  if (context.HasInput(4)) {
    TARTAN_ASSIGN_OR_RETURN(steps, context.HostInts(4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return Invalid("starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ",
                   axes.size(), " and ", steps.size(), " elements");
  }
  TARTAN_RETURN_IF_ERROR(NormalAxes(axes, x.rank()).status());
  Window window = WholeOf(x);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return Invalid("the step of axis ", axes[i], " is 0");
    const size_t axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    SetWindow(starts[i], ends[i], steps[i], x.dims()[axis], axis, &window);
  }
  return OneTensor(SliceOf(context, x, window));
}

// Sizes from operand 1, or else equal parts. From opset 18 on the last part may be smaller.
absl::StatusOr<std::vector<int64_t>> SplitSizes(NodeContext& context, int64_t dim) {
  if (context.HasInput(1)) return context.HostInts(1);
  TARTAN_ASSIGN_OR_RETURN(const int64_t parts, context.Int("num_outputs", context.output_count()));
  if (parts < 1) return Invalid("attribute 'num_outputs' is ", parts);
  if (parts > std::max<int64_t>(1, context.output_count())) {
    return Invalid("attribute 'num_outputs' is ", parts, ", but the node has ",
                   context.output_count(), " outputs");
  }
  const int64_t part = (dim + parts - 1) / parts;
  if (part * parts != dim && context.opset() < 18) {
    return Invalid("size ", dim, " is not divisible into ", parts, " equal parts");
  }
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::max<int64_t>(0, std::min(part, dim - i * part)));
  }
  return sizes;
}

Outputs Split(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", 0, x.rank()));
  const size_t along = static_cast<size_t>(axis);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SplitSizes(context, x.dims()[along]));
  Window window = WholeOf(x);
  std::vector<Tensor> outputs;
  int64_t left = x.dims()[along];
  for (int64_t size : sizes) {
    if (size < 0 || size > left) {
      return Invalid("parts ", DimsToString(sizes), " do not fit ", x.shape().ToString(),
                     " along axis ", axis);
    }
    window.sizes[along] = size;
    TARTAN_ASSIGN_OR_RETURN(Tensor part, SliceOf(context, x, window));
    outputs.push_back(std::move(part));
    window.start[along] += size;
    left -= size;
  }
  if (left != 0) {
    return Invalid("parts ", DimsToString(sizes), " leave ", left, " of ", x.shape().ToString());
  }
  return outputs;
}

Outputs Expand(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, context.HostInts(1));
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), shape}));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, BroadcastDims(x.dims(), shape));
  return OneTensor(BroadcastTo(context, x, dims));
}

// Each repetition becomes a dimension of its own, before the dimension that it repeats.
Outputs TileOperator(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, context.HostInts(1));
  if (repeats.size() != x.dims().size()) {
    return Invalid(repeats.size(), " repeats for ", x.shape().ToString());
  }
  std::vector<int64_t> narrow;
  std::vector<int64_t> wide;
  std::vector<int64_t> dims;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return Invalid("repeats ", DimsToString(repeats));
    if (repeats[d] != 1) {
      narrow.push_back(1);
      wide.push_back(repeats[d]);
    }
    narrow.push_back(x.dims()[d]);
    wide.push_back(x.dims()[d]);
    if (!CheckShape(TensorShape{x.type(), wide}).ok()) return Invalid("repeats are too large");
    dims.push_back(repeats[d] * x.dims()[d]);
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor apart, Reshape(context, x, narrow));
  TARTAN_ASSIGN_OR_RETURN(const Tensor repeated, BroadcastTo(context, apart, wide));
  return OneTensor(Reshape(context, repeated, dims));
}

// Slices along `axis`, as in numpy.take; negative indices count from the end.
Outputs Gather(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", 0, x.rank()));
  TARTAN_RETURN_IF_ERROR(context.CheckInput(1, {IndexBounds(x, axis)}));
  const HostTensor* index = context.input(1).constant();
  if (index != nullptr && index->shape().dims.empty()) {
    const Tensor part = PartOfCaches(context, x, axis, index->GetInt(0));
    if (part.defined()) return std::vector<Tensor>{part};
  }
  return OneTensor(TakeOf(context, x, context.input(1), axis));
}

constexpr OperatorRow kOperators[] = {
    Moving({"Concat", 1, {1, kAnyNumber}, Concat}),
    Moving({"Expand", 8, {2, 2}, Expand, HostOperands(1)}),
    Moving({"Gather", 1, {2, 2}, Gather}),
    Moving({"Slice", 1, {1, 1}, Slice, 0, SliceToOperands}),
    Moving({"Slice", 10, {3, 5}, Slice, HostOperands(1, 2, 3, 4)}),
    Moving({"Split", 1, {1, 2}, Split, HostOperands(1), SplitToOperand}),
    Moving({"Split", 13, {1, 2}, Split, HostOperands(1)}),
    Moving({"Tile", 1, {3, 3}, TileOperator, HostOperands(1, 2), TilesToRepeats}),
    Moving({"Tile", 6, {2, 2}, TileOperator, HostOperands(1)}),
    Moving({"Transpose", 1, {1, 1}, TransposeOperator}),
};

}  // namespace

absl::Span<const OperatorRow> MovementOperators() { return kOperators; }

}  // namespace tartan::onnx
