// SPDX-License-Identifier: Apache-2.0
// Shape rules of special operations, one function per family.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/ir/shape_rules.h"

namespace tartan::ir {
namespace {

using DimVector = std::vector<int64_t>;

// An operation with the shapes of its operands.
struct Applied {
  const Special& special;
  std::vector<TensorShape> shapes;

  int64_t param(size_t i) const { return special.params[i]; }
  absl::Status Error(absl::string_view message) const {
    std::string text(Name(special.kind));
    for (size_t i = 0; i < shapes.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? " of " : ", ", shapes[i].ToString());
    }
    return absl::InvalidArgumentError(absl::StrCat(text, ": ", message));
  }
};

struct Arity {
  size_t operands;
  size_t params;
};

Arity ArityOf(SpecialKind kind) {
  switch (kind) {
    case SpecialKind::kReshape:
    case SpecialKind::kPrng:
      return {1, 0};
    case SpecialKind::kIndex:
      return {1, 1};
    case SpecialKind::kGather:
    case SpecialKind::kGatherElements:
    case SpecialKind::kGatherNd:
      return {2, 1};
    case SpecialKind::kScatter:
      return {3, 0};
    case SpecialKind::kScatterElements:
      return {3, 2};
    case SpecialKind::kScatterNd:
      return {3, 1};
    case SpecialKind::kSort:
      return {1, 2};
    case SpecialKind::kArgSort:
    case SpecialKind::kCumSum:
    case SpecialKind::kCumProd:
      return {1, 3};
    case SpecialKind::kCustomGradient:
      break;
  }
  return {0, 0};
}

absl::Status CheckAxis(const Applied& op) {
  const int64_t rank = op.shapes[0].rank();
  if (op.param(0) >= 0 && op.param(0) < rank) return absl::OkStatus();
  return op.Error(absl::StrCat("there is no axis ", op.param(0)));
}

absl::Status CheckIndices(const Applied& op) {
  if (IsInteger(op.shapes[1].type)) return absl::OkStatus();
  return op.Error("the indices must be integers");
}

absl::Status CheckMode(const Applied& op, int64_t mode) {
  if (mode >= 0 && mode <= static_cast<int64_t>(ScatterMode::kMax)) return absl::OkStatus();
  return op.Error(absl::StrCat("there is no mode ", mode));
}

// The dims of `shape` from position `begin` to `end`.
DimVector Slice(const TensorShape& shape, int64_t begin, int64_t end) {
  return DimVector(shape.dims.begin() + begin, shape.dims.begin() + end);
}

void Append(DimVector& dims, const DimVector& more) {
  dims.insert(dims.end(), more.begin(), more.end());
}

absl::StatusOr<TensorShape> ReshapeShape(const Applied& op, absl::Span<const int64_t> dims) {
  const TensorShape result{op.shapes[0].type, {dims.begin(), dims.end()}};
  TARTAN_RETURN_IF_ERROR(CheckShape(result));
  if (result.element_count() != op.shapes[0].element_count()) {
    return op.Error(absl::StrCat("it has ", op.shapes[0].element_count(), " elements, but ",
                                 DimsToString(dims), " has ", result.element_count()));
  }
  return result;
}

absl::StatusOr<TensorShape> GatherShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckAxis(op));
  TARTAN_RETURN_IF_ERROR(CheckIndices(op));
  const TensorShape& data = op.shapes[0];
  if (data.dims[op.param(0)] == 0 && op.shapes[1].element_count() > 0) {
    return op.Error("the data has no elements to gather");
  }
  DimVector dims = Slice(data, 0, op.param(0));
  Append(dims, op.shapes[1].dims);
  Append(dims, Slice(data, op.param(0) + 1, data.rank()));
  return TensorShape{data.type, dims};
}

// `indices` may have any size along the axis, and smaller sizes than `data` elsewhere.
absl::Status CheckElementIndices(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckAxis(op));
  TARTAN_RETURN_IF_ERROR(CheckIndices(op));
  const TensorShape& data = op.shapes[0];
  const TensorShape& indices = op.shapes[1];
  if (data.rank() != indices.rank()) return op.Error("data and indices differ in rank");
  for (int64_t d = 0; d < data.rank(); ++d) {
    if (d != op.param(0) && indices.dims[d] > data.dims[d]) {
      return op.Error(absl::StrCat("the indices exceed dimension ", d, " of the data"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorShape> GatherElementsShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckElementIndices(op));
  if (op.shapes[0].dims[op.param(0)] == 0 && op.shapes[1].element_count() > 0) {
    return op.Error("the data has no elements to gather");
  }
  return TensorShape{op.shapes[0].type, op.shapes[1].dims};
}

absl::StatusOr<TensorShape> GatherNdShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckIndices(op));
  const TensorShape& data = op.shapes[0];
  const TensorShape& indices = op.shapes[1];
  const int64_t batch = op.param(0);
  if (indices.rank() == 0) return op.Error("the indices need at least one dimension");
  if (batch < 0 || batch >= indices.rank() || batch > data.rank() ||
      Slice(data, 0, batch) != Slice(indices, 0, batch)) {
    return op.Error(absl::StrCat("data and indices do not share ", batch, " leading sizes"));
  }
  const int64_t depth = indices.dims.back();
  if (batch + depth > data.rank()) {
    return op.Error(absl::StrCat("the data has no ", batch + depth, " dimensions to index"));
  }
  DimVector dims = Slice(indices, 0, indices.rank() - 1);
  const TensorShape chosen{data.type, dims};
  for (int64_t d = batch; d < batch + depth; ++d) {
    if (data.dims[d] == 0 && chosen.element_count() > 0) {
      return op.Error("the data has no elements to gather");
    }
  }
  Append(dims, Slice(data, batch + depth, data.rank()));
  return TensorShape{data.type, dims};
}

absl::StatusOr<TensorShape> ScatterShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckIndices(op));
  const TensorShape& updates = op.shapes[0];
  const TensorShape& indices = op.shapes[1];
  if (updates.rank() < indices.rank() || Slice(updates, 0, indices.rank()) != indices.dims) {
    return op.Error("the values must begin with the sizes of the indices");
  }
  if (op.shapes[2].rank() == 0) return op.Error("the third operand has no such dimension");
  DimVector dims = {op.shapes[2].dims[0]};
  Append(dims, Slice(updates, indices.rank(), updates.rank()));
  return TensorShape{updates.type, dims};
}

absl::StatusOr<TensorShape> ScatterElementsShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckElementIndices(op));
  TARTAN_RETURN_IF_ERROR(CheckMode(op, op.param(1)));
  if (op.shapes[2].dims != op.shapes[1].dims) return op.Error("updates and indices differ in size");
  if (op.shapes[2].type != op.shapes[0].type) return op.Error("updates and data differ in type");
  return op.shapes[0];
}

absl::StatusOr<TensorShape> ScatterNdShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckIndices(op));
  TARTAN_RETURN_IF_ERROR(CheckMode(op, op.param(0)));
  const TensorShape& data = op.shapes[0];
  const TensorShape& indices = op.shapes[1];
  if (indices.rank() == 0) return op.Error("the indices need at least one dimension");
  const int64_t depth = indices.dims.back();
  if (depth > data.rank()) {
    return op.Error(absl::StrCat("the data has no ", depth, " dimensions to index"));
  }
  DimVector wanted = Slice(indices, 0, indices.rank() - 1);
  Append(wanted, Slice(data, depth, data.rank()));
  if (op.shapes[2].dims != wanted) {
    return op.Error(absl::StrCat("the updates must have the sizes ", DimsToString(wanted)));
  }
  if (op.shapes[2].type != data.type) return op.Error("updates and data differ in type");
  return data;
}

absl::StatusOr<TensorShape> ArgSortShape(const Applied& op) {
  TARTAN_RETURN_IF_ERROR(CheckAxis(op));
  TensorShape result{DataType::kInt64, op.shapes[0].dims};
  int64_t& size = result.dims[op.param(0)];
  const int64_t count = op.param(2);
  if (count < 0 || count > size) {
    return op.Error(absl::StrCat("a line has ", size, " elements, not ", count));
  }
  if (count > 0) size = count;
  return result;
}

absl::StatusOr<TensorShape> PrngShape(const Applied& op, absl::Span<const int64_t> dims) {
  const TensorShape& seed = op.shapes[0];
  const bool pair = seed.type == DataType::kUInt32 && seed.dims == DimVector{2};
  if (!pair && !(IsInteger(seed.type) && seed.rank() == 0)) {
    return op.Error("the seed must be uint32[2] or an integer scalar");
  }
  return TensorShape{DataType::kFloat32, {dims.begin(), dims.end()}};
}

// The rule's inputs are the operands after the first, then the value and its gradient.
absl::StatusOr<TensorShape> CustomGradientShape(const Applied& op) {
  if (op.shapes.empty() || !op.special.params.empty()) {
    return op.Error("it takes tensors only, not numbers");
  }
  const TensorShape& value = op.shapes[0];
  if (op.special.rule == nullptr) {
    if (op.shapes.size() > 1) return op.Error("the rule is missing");
    return value;
  }
  if (!IsFloat(value.type)) return op.Error("only floats have gradients");
  const Program& rule = *op.special.rule;
  std::vector<TensorShape> inputs(op.shapes.begin() + 1, op.shapes.end());
  inputs.insert(inputs.end(), 2, value);
  if (rule.inputs.size() != inputs.size()) {
    return op.Error(absl::StrCat("the rule must have ", inputs.size(),
                                 " inputs: its tensors, the result and its gradient"));
  }
  std::vector<TensorShape> wanted;  // per output
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorShape& shape = rule.values[rule.inputs[i]].shape;
    if (shape != inputs[i]) {
      return op.Error(absl::StrCat("input ", i, " of the rule is ", shape.ToString(), ", not ",
                                   inputs[i].ToString()));
    }
    if (i + 2 < inputs.size() && IsFloat(shape.type)) wanted.push_back(shape);
  }
  if (rule.outputs.empty() || rule.outputs.size() > wanted.size()) {
    return op.Error(absl::StrCat("the rule must have ", wanted.size() > 1 ? "at most " : "",
                                 wanted.size(), wanted.size() == 1 ? " output" : " outputs",
                                 ", one for each float tensor, not ", rule.outputs.size()));
  }
  for (size_t i = 0; i < rule.outputs.size(); ++i) {
    const TensorShape& shape = rule.values[rule.outputs[i]].shape;
    if (shape.dims == wanted[i].dims && IsFloat(shape.type)) continue;
    return op.Error(absl::StrCat("output ", i, " of the rule is ", shape.ToString(),
                                 ", but the tensor is ", wanted[i].ToString()));
  }
  return value;
}

absl::StatusOr<TensorShape> AppliedShape(const Applied& op, absl::Span<const int64_t> dims) {
  switch (op.special.kind) {
    case SpecialKind::kReshape:
      return ReshapeShape(op, dims);
    case SpecialKind::kIndex:
      TARTAN_RETURN_IF_ERROR(CheckAxis(op));
      return TensorShape{DataType::kInt32, op.shapes[0].dims};
    case SpecialKind::kGather:
      return GatherShape(op);
    case SpecialKind::kGatherElements:
      return GatherElementsShape(op);
    case SpecialKind::kGatherNd:
      return GatherNdShape(op);
    case SpecialKind::kScatter:
      return ScatterShape(op);
    case SpecialKind::kScatterElements:
      return ScatterElementsShape(op);
    case SpecialKind::kScatterNd:
      return ScatterNdShape(op);
    case SpecialKind::kArgSort:
      return ArgSortShape(op);
    case SpecialKind::kSort:
    case SpecialKind::kCumSum:
    case SpecialKind::kCumProd:
      TARTAN_RETURN_IF_ERROR(CheckAxis(op));
      return op.shapes[0];
    case SpecialKind::kPrng:
      return PrngShape(op, dims);
    case SpecialKind::kCustomGradient:  // has a variable number of operands
      break;
  }
  return op.Error("there is no such operation");
}

}  // namespace

absl::StatusOr<TensorShape> SpecialShape(const Program& program, const Special& special,
                                         absl::Span<const int64_t> dims) {
  Applied op{special, {}};
  for (const ValueId operand : special.operands) op.shapes.push_back(program.values[operand].shape);
  if (special.kind == SpecialKind::kCustomGradient) return CustomGradientShape(op);
  const Arity arity = ArityOf(special.kind);
  if (special.operands.size() != arity.operands || special.params.size() != arity.params) {
    return op.Error(absl::StrCat("it takes ", arity.operands, " tensors and ", arity.params,
                                 " numbers, not ", special.operands.size(), " and ",
                                 special.params.size()));
  }
  TARTAN_ASSIGN_OR_RETURN(TensorShape result, AppliedShape(op, dims));
  TARTAN_RETURN_IF_ERROR(CheckShape(result));
  return result;
}

}  // namespace tartan::ir
