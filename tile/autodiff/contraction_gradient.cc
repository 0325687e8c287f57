// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tile/autodiff/multiplication_gradient.h"
#include "tile/autodiff/rules.h"
#include "tile/autodiff/split_contraction.h"
#include "tile/autodiff/strided_output.h"

namespace tartan::autodiff {
namespace {

// Returns a contraction with the indices, constraints and options of `op`, without accesses.
ir::Contraction Frame(const ir::Contraction& op, Aggregation aggregation,
                      Combination combination = Combination::kNone) {
  ir::Contraction frame;
  frame.aggregation = aggregation;
  frame.combination = combination;
  frame.index_names = op.index_names;
  frame.constraints = op.constraints;
  frame.no_defract = op.no_defract;
  return frame;
}

std::vector<std::vector<int64_t>> InputDims(const Emitter& emit, const ir::Contraction& op) {
  std::vector<std::vector<int64_t>> dims;
  for (const ir::Access& input : op.inputs) dims.push_back(emit.shape(input.tensor).dims);
  return dims;
}

ir::Access At(ValueId tensor, const ir::Access& access) { return {tensor, access.indices}; }

bool Uses(const ir::Access& access, int variable) {
  return std::any_of(access.indices.begin(), access.indices.end(), [&](const math::Affine& poly) {
    return !poly.coefficient(variable).is_zero();
  });
}

// Returns true if range constraints can replace the access `dropped`: it has no fractions, and the
// other accesses contain its variables.
bool FitsConstraints(const ir::Contraction& op, const ir::Access& dropped, const ir::Access& kept) {
  for (const math::Affine& poly : dropped.indices) {
    if (!poly.is_integer()) return false;
  }
  for (size_t v = 0; v < op.index_names.size(); ++v) {
    const auto variable = static_cast<int>(v);
    if (Uses(dropped, variable) && !Uses(kept, variable) && !Uses(op.output, variable)) {
      return false;
    }
  }
  return true;
}

// Derivative with respect to one summand. The other summand's values do not matter, but its valid
// index range does.
ValueId SummandGradient(Emitter& emit, const ir::Contraction& op, size_t input, ValueId gradient) {
  const ir::Access& kept = op.inputs[input];
  const ir::Access& dropped = op.inputs[1 - input];
  const TensorShape dropped_shape = emit.shape(dropped.tensor);
  ir::Contraction result = Frame(op, Aggregation::kSum);
  result.output.indices = kept.indices;
  result.inputs = {At(gradient, op.output)};
  if (FitsConstraints(op, dropped, kept)) {
    for (size_t d = 0; d < dropped.indices.size(); ++d) {
      result.constraints.push_back({dropped.indices[d], dropped_shape.dims[d]});
    }
  } else {
    result.combination = Combination::kMultiply;
    result.inputs.push_back(At(emit.Ones({emit.type(gradient), dropped_shape.dims}), dropped));
  }
  return emit.Contract(std::move(result), emit.shape(kept.tensor).dims);
}

// Converts integers to the type of the gradient.
ir::Access AsFloats(Emitter& emit, const ir::Access& access, ValueId gradient) {
  if (IsFloat(emit.type(access.tensor))) return access;
  return {emit.Cast(access.tensor, emit.type(gradient)), access.indices};
}

// Sums and assignments: the forward formula with the output and one input exchanged.
Parts LinearParts(Emitter& emit, const ir::Contraction& op, ValueId gradient,
                  const std::vector<bool>& wanted) {
  Parts parts(wanted.size(), ir::kNoValue);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!wanted[i]) continue;
    ir::Contraction result = Frame(op, Aggregation::kSum, op.combination);
    result.output.indices = op.inputs[i].indices;
    const ir::Access outer = At(gradient, op.output);
    switch (op.combination) {
      case Combination::kNone:
        result.inputs = {outer};
        break;
      case Combination::kMultiply:
        result.inputs = {outer, AsFloats(emit, op.inputs[1 - i], gradient)};
        break;
      case Combination::kAdd:
        parts[i] = SummandGradient(emit, op, i, gradient);
        continue;
      case Combination::kEqual:
        continue;
      case Combination::kCond:
        if (i < 2) continue;  // the compared values
        result.inputs = {op.inputs[0], op.inputs[1], outer};
        break;
    }
    parts[i] = ContractWithGaps(emit, std::move(result), emit.shape(op.inputs[i].tensor).dims);
  }
  return parts;
}

// Keys that identify the winners of a maximum or minimum over one tensor: an element of the tensor
// is a winner if its key equals the output's key.
struct Keys {
  ValueId input;
  ValueId output;
};

Keys WinnerKeys(Emitter& emit, const ir::Contraction& op, const Site& site) {
  const ir::Access& x = op.inputs[0];
  if (site.ties == Ties::kShare) return {x.tensor, site.value};
  // Keys are distances from the end, so the maximum is the first winner; 0 means no winner.
  const TensorShape shape = emit.shape(x.tensor);
  const ValueId from_end =
      emit.Sub(emit.Integer(shape.element_count()), emit.LinearIndex(shape.dims));
  ir::Contraction first = Frame(op, Aggregation::kMax, Combination::kCond);
  first.output.indices = op.output.indices;
  first.inputs = {x, At(site.value, op.output), At(from_end, x)};
  return {from_end, emit.Contract(std::move(first), emit.shape(site.value).dims)};
}

// Maximum and minimum of one tensor: all index points that attain it share the gradient equally.
ValueId ExtremumPart(Emitter& emit, const ir::Contraction& op, const Site& site) {
  const ir::Access& x = op.inputs[0];
  const std::vector<int64_t> input_dims = emit.shape(x.tensor).dims;
  const std::vector<int64_t> output_dims = emit.shape(site.value).dims;
  const DataType type = ComputeType(emit.type(site.value));
  const Keys keys = WinnerKeys(emit, op, site);
  const ir::Access mine = At(keys.input, x);
  const ir::Access wanted = At(keys.output, op.output);

  ir::Contraction count = Frame(op, Aggregation::kSum, Combination::kCond);
  count.output.indices = op.output.indices;
  count.inputs = {mine, wanted, {emit.Typed(type, 1), {}}};
  // A minimum of 1 gives elements without index points a share of 0 instead of NaN.
  const ValueId winners =
      emit.Apply(ScalarOp::kMax, {emit.Contract(std::move(count), output_dims), emit.Integer(1)});
  const ValueId share = emit.Div(site.gradient, winners);

  ir::Contraction result = Frame(op, Aggregation::kSum, Combination::kCond);
  result.output.indices = x.indices;
  result.inputs = {mine, wanted, At(share, op.output)};
  return emit.Contract(std::move(result), input_dims);
}

// Multiplying aggregations (`kProduct`): the factors of each output element become a row, with 1
// for invalid index points.
Parts ProductParts(Emitter& emit, const ir::Contraction& op, const Site& site) {
  const TensorShape output = emit.shape(site.value);
  absl::StatusOr<std::optional<StoredContraction>> stored =
      StoreByElement(op, InputDims(emit, op), output.dims);
  if (!stored.ok()) emit.Fail(stored.status());
  if (!stored.ok() || !stored->has_value()) return Parts(site.wanted.size(), ir::kNoValue);
  ir::Contraction& combine = (*stored)->combine;
  const std::vector<int64_t>& dims = (*stored)->dims;
  combine.default_value = emit.Ones({output.type, dims});
  const ValueId factors = emit.Contract(combine, dims);
  if (!emit.status().ok()) return {};
  const int64_t rows = output.element_count();
  const int64_t width = rows == 0 ? 0 : emit.shape(factors).element_count() / rows;
  const ValueId by_factors =
      RowMultiplicationGradient(emit, emit.Reshape(factors, {rows, width}), site.gradient);
  return LinearParts(emit, combine, emit.Reshape(by_factors, dims), site.wanted);
}

// Handles maxima and minima of several tensors.
Parts SplitExtremumParts(Emitter& emit, const ir::Contraction& op, const Site& site) {
  absl::StatusOr<std::optional<SplitContraction>> split =
      Split(op, InputDims(emit, op), emit.shape(site.value).dims);
  if (!split.ok()) emit.Fail(split.status());
  if (!split.ok() || !split->has_value()) return Parts(site.wanted.size(), ir::kNoValue);
  SplitContraction& two = **split;
  const ValueId combined = emit.Contract(two.stored.combine, two.stored.dims);
  if (!emit.status().ok()) return {};
  two.aggregate.inputs[0].tensor = combined;
  const ValueId by_combined = ExtremumPart(emit, two.aggregate, site);
  return LinearParts(emit, two.stored.combine, by_combined, site.wanted);
}

// Gradient of the default value: nonzero for elements without a valid index point.
ValueId DefaultPart(Emitter& emit, const ir::Contraction& op, ValueId gradient) {
  ir::Contraction reached = Frame(op, Aggregation::kMax, op.combination);
  if (op.combination == Combination::kAdd || op.combination == Combination::kEqual) {
    reached.combination = Combination::kMultiply;
  }
  reached.output.indices = op.output.indices;
  for (const ir::Access& input : op.inputs) {
    reached.inputs.push_back(
        At(emit.Ones({DataType::kInt32, emit.shape(input.tensor).dims}), input));
  }
  const ValueId is_reached = emit.Contract(std::move(reached), emit.shape(gradient).dims);
  return emit.Where(emit.Equal(is_reached, emit.Integer(0)), gradient);
}

}  // namespace

Parts ContractionGradient(Emitter& emit, const ir::Contraction& op, const Site& site) {
  const size_t count = op.inputs.size();
  const bool any_input = std::find(site.wanted.begin(), site.wanted.begin() + count, true) <
                         site.wanted.begin() + count;
  Parts parts(site.wanted.size(), ir::kNoValue);
  const bool is_linear =
      op.aggregation == Aggregation::kSum || op.aggregation == Aggregation::kAssign;
  if (any_input && is_linear) {
    parts = LinearParts(emit, op, site.gradient, site.wanted);
  } else if (any_input && op.aggregation == Aggregation::kProduct) {
    parts = ProductParts(emit, op, site);
  } else if (any_input && count == 1) {
    parts[0] = ExtremumPart(emit, op, site);
  } else if (any_input) {
    parts = SplitExtremumParts(emit, op, site);
  }
  const bool by_default = op.default_value != ir::kNoValue && site.wanted[count];
  if (by_default && emit.status().ok()) parts[count] = DefaultPart(emit, op, site.gradient);
  return parts;
}

}  // namespace tartan::autodiff
