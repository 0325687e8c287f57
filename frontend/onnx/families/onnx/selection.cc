// SPDX-License-Identifier: Apache-2.0
// Selection of elements by rank, mask or position, and mask operators: TopK, Compress, NonZero,
// OneHot, Trilu.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The first k elements in sorted order along an axis, and their positions. Equal elements keep
// their order. NaN ranks above all numbers, as for ArgMax.
Outputs TopK(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -1, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t largest, context.Int("largest", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t k, context.HostInt(1));
  const int64_t size = x.dims()[static_cast<size_t>(axis)];
  if (k < 0 || k > size) {
    return Invalid("k ", k, " is not between 0 and the size of axis ", axis, " of ",
                   x.shape().ToString());
  }
  // A count of 0 means all elements, so k = 0 takes an empty slice afterwards.
  const std::string order = absl::StrCat("function (X) -> (I) { I = argsort(X, ", axis, ", ",
                                         largest != 0 ? 1 : 0, ", ", k, "); }");
  TARTAN_ASSIGN_OR_RETURN(Tensor positions, context.ApplyOne(order, {x}));
  if (k == 0) {
    Window none = WholeOf(x);
    none.sizes[static_cast<size_t>(axis)] = 0;
    TARTAN_ASSIGN_OR_RETURN(positions, SliceOf(context, positions, none));
  }
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor values,
      context.ApplyOne(
          absl::StrCat("function (X, I) -> (Y) { Y = gather_elements(X, I, ", axis, "); }"),
          {x, positions}));
  return std::vector<Tensor>{values, positions};
}

using HostTensors = absl::StatusOr<std::vector<HostTensor>>;

// Flat positions of elements that are not 0.
std::vector<int64_t> FindNonZero(const HostTensor& x) {
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.element_count(); ++i) {
    if (x.GetDouble(i) != 0) found.push_back(i);
  }
  return found;
}

// The condition decides the number of elements. Without an axis the operand is flattened.
Outputs Compress(NodeContext& context) {
  Tensor x = context.input(0);
  int64_t axis = 0;
  if (context.HasAttribute("axis")) {
    TARTAN_ASSIGN_OR_RETURN(axis, context.Int("axis"));
    TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, x.rank()));
  } else {
    TARTAN_ASSIGN_OR_RETURN(x, Reshape(context, x, {x.shape().element_count()}));
  }
  const int64_t size = x.dims()[static_cast<size_t>(axis)];
  const int64_t conditions = context.input(1).shape().element_count();
  if (conditions > size) return Invalid(conditions, " conditions for a size of ", size);
  const auto find = [](absl::Span<const HostTensor> operands) -> HostTensors {
    const std::vector<int64_t> kept = FindNonZero(operands[0]);
    return std::vector<HostTensor>{HostInts({static_cast<int64_t>(kept.size())}, kept)};
  };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> kept,
                          context.RunOnHost({context.input(1)}, find));
  return OneTensor(TakeOf(context, x, kept[0], axis));
}

// The coordinates of elements that are not 0: one row per dimension, one column per element.
Outputs NonZero(NodeContext& context) {
  const auto find = [](absl::Span<const HostTensor> operands) -> HostTensors {
    const HostTensor& x = operands[0];
    const std::vector<int64_t> strides = RowMajorStrides(x.shape().dims);
    const std::vector<int64_t> found = FindNonZero(x);
    std::vector<int64_t> coordinates;
    for (size_t d = 0; d < strides.size(); ++d) {
      for (int64_t i : found) coordinates.push_back(i / strides[d] % x.shape().dims[d]);
    }
    return std::vector<HostTensor>{
        HostInts({x.shape().rank(), static_cast<int64_t>(found.size())}, coordinates)};
  };
  return context.RunOnHost({context.input(0)}, find);
}

// Operands: `indices`, `depth`, `values` (off, on). The result has a new axis of `depth` elements,
// with the on value at the index.
Outputs OneHot(NodeContext& context) {
  const Tensor& indices = context.input(0);
  const Tensor& values = context.input(2);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -1, indices.rank() + 1));
  TARTAN_ASSIGN_OR_RETURN(const double depth, context.HostFloat(1));
  constexpr double kMaxDepth = 1 << 24;
  if (!(depth >= 1 && depth <= kMaxDepth)) return Invalid("depth ", depth);
  if (values.dims() != std::vector<int64_t>{2}) {
    return Invalid("the values are ", values.shape().ToString(), ", expected two");
  }
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < static_cast<int64_t>(depth); ++i) positions.push_back(i);
  std::vector<int64_t> along(static_cast<size_t>(indices.rank() + 1 - axis), 1);
  along[0] = static_cast<int64_t>(positions.size());
  std::vector<int64_t> apart = indices.dims();
  apart.insert(apart.begin() + axis, 1);
  return context.Apply(
      TileFunction(
          "I, K, V", "Y",
          {"OFF[] = =(V[0])", "ON[] = =(V[1])", absl::StrCat("J = ", ReshapeCall("I", apart)),
           absl::StrCat("P = ", ReshapeCall("K", along)),
           absl::StrCat("Y = (J < 0 ? J + ", positions.size(), " : J) == P ? ON : OFF")}),
      {indices, ConstantInts(positions), values});
}

// Keeps a triangle of each matrix: upper keeps column - row >= k, lower column - row <= k.
Outputs Trilu(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2) return Invalid("a matrix is expected, got ", x.shape().ToString());
  TARTAN_ASSIGN_OR_RETURN(const int64_t upper, context.Int("upper", 1));
  int64_t k = 0;
  if (context.HasInput(1)) {
    TARTAN_ASSIGN_OR_RETURN(k, context.HostInt(1));
  }
  // Past the corners all k give the same result; k stays within 32 bits, as coordinates do.
  const int64_t most = int64_t{1} << 30;
  k = std::min(std::max(k, -most), most);
  const std::string value =
      absl::StrCat("index(X, ", x.rank() - 1, ") - index(X, ", x.rank() - 2, ") ",
                   upper != 0 ? ">=" : "<=", " ", Literal(k), " ? X : 0");
  return context.Apply(TileFunction("X", "Y", {"Y = " + Cast(value, x.type())}), {x});
}

constexpr OperatorRow kOperators[] = {
    Moving({"Compress", 9, {2, 2}, Compress}),
    {"NonZero", 9, {1, 1}, NonZero},
    {"OneHot", 9, {3, 3}, OneHot, HostOperands(1)},
    // k was an attribute.
    {"TopK", 1, {1, 1}, TopK, 0, KToOperand},
    {"TopK", 10, {2, 2}, TopK, HostOperands(1)},
    {"Trilu", 14, {1, 2}, Trilu, HostOperands(1)},
};

}  // namespace

absl::Span<const OperatorRow> SelectionOperators() { return kOperators; }

}  // namespace tartan::onnx
