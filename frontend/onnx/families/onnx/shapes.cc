// SPDX-License-Identifier: Apache-2.0
// Operators that keep the elements and their order: Reshape, Flatten, Squeeze, Unsqueeze and the
// like.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/families/shared/movement.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// A 0 in `dims` copies the size of the operand (unless allowzero), and one -1 is inferred.
Outputs ReshapeOperator(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> wanted, context.HostInts(1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t allow_zero, context.Int("allowzero", 0));
  std::vector<int64_t> dims = wanted;
  int64_t inferred = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && allow_zero == 0) {
      if (d >= x.dims().size())
        return Invalid("size 0 at ", d, " copies from ", x.shape().ToString());
      dims[d] = x.dims()[d];
    } else if (dims[d] == -1) {
      if (inferred >= 0) return Invalid("sizes ", DimsToString(wanted), " have two -1");
      inferred = static_cast<int64_t>(d);
      dims[d] = 1;
    }
  }
  const auto fail = [&] {
    return Invalid("cannot reshape ", x.shape().ToString(), " to ", DimsToString(wanted));
  };
  if (!CheckShape(TensorShape{x.type(), dims}).ok()) return fail();
  const int64_t known = Product(dims);
  const int64_t count = x.shape().element_count();
  if (inferred >= 0) {
    if (known == 0 || count % known != 0) return fail();
    dims[static_cast<size_t>(inferred)] = count / known;
  }
  if (Product(dims) != count) return fail();
  return OneTensor(Reshape(context, x, dims));
}

// A matrix: the dimensions before `axis` become rows, the others columns.
Outputs Flatten(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis", 1));
  if (axis < -x.rank() || axis > x.rank()) {
    return Invalid("axis ", axis, " does not exist in ", x.shape().ToString());
  }
  if (axis < 0) axis += x.rank();
  const absl::Span<const int64_t> dims = x.dims();
  return OneTensor(Reshape(context, x,
                           {Product(dims.first(static_cast<size_t>(axis))),
                            Product(dims.subspan(static_cast<size_t>(axis)))}));
}

// Without axes every size of 1 is dropped.
Outputs Squeeze(NodeContext& context) {
  const Tensor& x = context.input(0);
  std::vector<int64_t> axes;
  if (context.HasInput(1)) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> given, context.HostInts(1));
    TARTAN_ASSIGN_OR_RETURN(axes, NormalAxes(given, x.rank()));
  }
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t dim = x.dims()[static_cast<size_t>(d)];
    const bool is_named = std::binary_search(axes.begin(), axes.end(), d);
    if (is_named && dim != 1) return Invalid("axis ", d, " of ", x.shape().ToString(), " is not 1");
    if (!(is_named || (!context.HasInput(1) && dim == 1))) dims.push_back(dim);
  }
  return OneTensor(Reshape(context, x, dims));
}

// The axes refer to the result.
Outputs Unsqueeze(NodeContext& context) {
  if (!context.HasInput(1)) return Invalid("the axes are missing");
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> given, context.HostInts(1));
  const int64_t rank = x.rank() + static_cast<int64_t>(given.size());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalAxes(given, rank));
  std::vector<int64_t> dims = x.dims();
  for (int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  return OneTensor(Reshape(context, x, dims));
}

constexpr OperatorRow kOperators[] = {
    Moving({"Flatten", 1, {1, 1}, Flatten}),
    Moving({"Reshape", 1, {1, 1}, ReshapeOperator, 0, ShapeToOperand}),
    Moving({"Reshape", 5, {2, 2}, ReshapeOperator, HostOperands(1)}),
    Moving({"Squeeze", 1, {1, 1}, Squeeze, 0, AxesToOperand}),
    Moving({"Squeeze", 13, {1, 2}, Squeeze, HostOperands(1)}),
    Moving({"Unsqueeze", 1, {1, 1}, Unsqueeze, 0, AxesToOperand}),
    Moving({"Unsqueeze", 13, {2, 2}, Unsqueeze, HostOperands(1)}),
};

}  // namespace

absl::Span<const OperatorRow> ShapeOperators() { return kOperators; }

}  // namespace tartan::onnx
