// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/build_kernel.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/ir/type_rules.h"
#include "tile/poly/coords.h"
#include "tile/poly/logistic.h"
#include "tile/poly/typed_expr.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;

// Converts values at given coordinates to expressions over the kernel's indices.
class ExprBuilder {
 public:
  ExprBuilder(const ir::Program& program, const ProgramSpaces& spaces, const ir::Grouping& grouping,
              FlatContraction* flat)
      : program_(program), spaces_(spaces), grouping_(grouping), flat_(flat) {}

  // Makes reads of `value` refer to the accumulator.
  void SetAccumulator(ir::ValueId value) { accumulator_ = value; }
  // Declares values that this kernel computes, although they are also stored in memory.
  void SetOwn(absl::Span<const ir::ValueId> values) { own_.insert(values.begin(), values.end()); }

  // Returns the element of `value` at `coords`, in its computation type, valid where `guard` holds.
  absl::StatusOr<ExprPtr> Eval(ir::ValueId value, const Coords& coords,
                               const std::vector<RangeConstraint>& guard) {
    const std::string key = MakeKey(value, coords, guard);
    if (auto it = memo_.find(key); it != memo_.end()) return it->second;
    TARTAN_ASSIGN_OR_RETURN(ExprPtr expr, EvalNew(value, coords, guard));
    memo_.emplace(key, expr);
    return expr;
  }

  // Returns the operand of the aggregation at one index point. `original`: the contraction's
  // indices as functions of the kernel's.
  absl::StatusOr<ExprPtr> Combine(const ir::Contraction& contraction, DataType type,
                                  absl::Span<const Affine> original,
                                  const std::vector<RangeConstraint>& guard) {
    std::vector<ExprPtr> inputs;
    for (const ir::Access& access : contraction.inputs) {
      Coords coords;
      for (const Affine& index : access.indices) coords.push_back(index.Substitute(original));
      TARTAN_ASSIGN_OR_RETURN(ExprPtr input, Eval(access.tensor, coords, guard));
      inputs.push_back(std::move(input));
    }
    type = ComputeType(type);
    switch (contraction.combination) {
      case Combination::kNone:
        return Convert(inputs[0], type);
      case Combination::kMultiply:
        return MakeApply(ScalarOp::kMul, type,
                         {Convert(inputs[0], type), Convert(inputs[1], type)});
      case Combination::kAdd:
        return MakeApply(ScalarOp::kAdd, type,
                         {Convert(inputs[0], type), Convert(inputs[1], type)});
      case Combination::kEqual:
        return Convert(Equal(contraction, inputs), type);
      case Combination::kCond:
        return MakeApply(ScalarOp::kSelect, type,
                         {Equal(contraction, inputs), Convert(inputs[2], type), Zero(type)});
    }
    return absl::InternalError("unknown combination");
  }

 private:
  std::string MakeKey(ir::ValueId value, const Coords& coords,
                      const std::vector<RangeConstraint>& guard) const {
    std::string key = absl::StrCat(value);
    for (const Affine& coord : coords) absl::StrAppend(&key, ",", coord.ToString());
    for (const RangeConstraint& c : guard) absl::StrAppend(&key, "|", c.ToString());
    return key;
  }

  ExprPtr Equal(const ir::Contraction& contraction, absl::Span<const ExprPtr> inputs) {
    const DataType type = ComputeType(ir::TypesOf(program_, contraction).compared);
    return MakeApply(ScalarOp::kEqual, DataType::kBool,
                     {Convert(inputs[0], type), Convert(inputs[1], type)});
  }

  absl::StatusOr<ExprPtr> EvalNew(ir::ValueId id, const Coords& coords,
                                  const std::vector<RangeConstraint>& guard) {
    const ir::Value& value = program_.values[id];
    if (id == accumulator_) {
      return MakeExpr(ComputeType(value.shape.type), Accumulator{});
    }
    const bool is_constant = std::holds_alternative<ir::Constant>(value.op);
    if (grouping_.in_memory[id] && own_.count(id) == 0 && !is_constant) {
      return ReadMemory(id, coords, guard);
    }
    return Match(
        value.op,
        [&](const ir::Input&) -> absl::StatusOr<ExprPtr> { return ReadMemory(id, coords, guard); },
        [&](const ir::Constant& constant) -> absl::StatusOr<ExprPtr> {
          return Convert(MakeExpr(ConstantType(constant), Literal{constant.value}),
                         value.shape.type);
        },
        [&](const ir::Elementwise& elementwise) {
          return EvalElementwise(id, elementwise, coords, guard);
        },
        [&](const ir::Contraction& contraction) {
          return EvalMove(id, contraction, coords, guard);
        },
        [&](const ir::Special& special) { return EvalSpecial(id, special, coords, guard); });
  }

  static DataType ConstantType(const ir::Constant& constant) {
    return std::holds_alternative<int64_t>(constant.value) ? DataType::kInt64 : DataType::kFloat64;
  }

  int TensorNumber(ir::ValueId id) {
    for (size_t t = 0; t < flat_->tensors.size(); ++t) {
      if (flat_->tensors[t].value == id) return static_cast<int>(t);
    }
    flat_->tensors.push_back({id, program_.values[id].shape});
    return static_cast<int>(flat_->tensors.size()) - 1;
  }

  absl::StatusOr<ExprPtr> ReadMemory(ir::ValueId id, const Coords& coords,
                                     const std::vector<RangeConstraint>& guard) {
    const TensorShape& shape = program_.values[id].shape;
    flat_->accesses.push_back({TensorNumber(id), coords, guard});
    return MakeExpr(ComputeType(shape.type), Read{static_cast<int>(flat_->accesses.size()) - 1});
  }

  absl::StatusOr<ExprPtr> EvalElementwise(ir::ValueId id, const ir::Elementwise& elementwise,
                                          const Coords& coords,
                                          const std::vector<RangeConstraint>& guard) {
    const TensorShape& shape = program_.values[id].shape;
    std::vector<ExprPtr> operands;
    for (size_t i = 0; i < elementwise.operands.size(); ++i) {
      const ir::ValueId operand = elementwise.operands[i];
      TARTAN_ASSIGN_OR_RETURN(
          ExprPtr expr,
          Eval(operand, BroadcastCoords(coords, shape.dims, program_.values[operand].shape.dims),
               guard));
      operands.push_back(Convert(std::move(expr), ir::OperandType(program_, id, i)));
    }
    if (elementwise.op == ScalarOp::kIdentity) return operands[0];
    if (elementwise.op == ScalarOp::kCast) {
      const ExprPtr converted = Convert(operands[0], shape.type);
      return grouping_.rounds(id, shape.type) ? RoundTo(converted, shape.type) : converted;
    }
    return WithLogisticFunction(
        MakeApply(elementwise.op, ComputeType(shape.type), std::move(operands)));
  }

  absl::StatusOr<ExprPtr> EvalMove(ir::ValueId id, const ir::Contraction& contraction,
                                   const Coords& coords,
                                   const std::vector<RangeConstraint>& guard) {
    const TensorShape& shape = program_.values[id].shape;
    const IndexSpace& space = *spaces_[id];
    if (!MovesElements(space)) {
      return absl::InternalError(
          absl::StrCat("value ", program_.values[id].name, " reduces and is not in memory"));
    }
    // Maps the output index of each dimension to that dimension's coordinate.
    std::vector<Affine> map(space.indices.size());
    for (size_t d = 0; d < space.output_coords.size(); ++d) {
      const int variable = space.output_coords[d].single_variable();
      if (variable >= 0) map[variable] = coords[d];
    }
    std::vector<Affine> original;
    for (const Affine& index : space.original) original.push_back(index.Substitute(map));
    std::vector<RangeConstraint> valid;
    for (const RangeConstraint& constraint : space.constraints) {
      RangeConstraint mapped{constraint.poly.Substitute(map), constraint.range};
      if (!IsImplied(mapped, flat_->indices) && !Contains(guard, mapped)) valid.push_back(mapped);
    }
    std::vector<RangeConstraint> inner_guard = guard;
    inner_guard.insert(inner_guard.end(), valid.begin(), valid.end());
    TARTAN_ASSIGN_OR_RETURN(ExprPtr moved, Combine(contraction, shape.type, original, inner_guard));
    if (valid.empty()) return moved;
    ExprPtr otherwise = Zero(shape.type);
    if (contraction.default_value != ir::kNoValue) {
      TARTAN_ASSIGN_OR_RETURN(otherwise, Eval(contraction.default_value, coords, guard));
      otherwise = Convert(otherwise, shape.type);
    }
    return MakeApply(ScalarOp::kSelect, ComputeType(shape.type),
                     {MakeExpr(DataType::kBool, InRange{valid}), moved, otherwise});
  }

  static bool Contains(const std::vector<RangeConstraint>& constraints, const RangeConstraint& c) {
    return std::find(constraints.begin(), constraints.end(), c) != constraints.end();
  }

  absl::StatusOr<ExprPtr> EvalSpecial(ir::ValueId id, const ir::Special& special,
                                      const Coords& coords,
                                      const std::vector<RangeConstraint>& guard) {
    const TensorShape& shape = program_.values[id].shape;
    switch (special.kind) {
      case ir::SpecialKind::kReshape: {
        const std::vector<int64_t>& from = program_.values[special.operands[0]].shape.dims;
        auto mapped = ReshapeCoords(coords, shape.dims, from, flat_->indices);
        if (!mapped.has_value()) {
          return absl::InternalError(absl::StrCat("reshape ", program_.values[id].name,
                                                  " of a value that is not in memory"));
        }
        return Eval(special.operands[0], *mapped, guard);
      }
      case ir::SpecialKind::kIndex:
        return Convert(MakeExpr(DataType::kInt32, Coordinate{coords[special.params[0]]}),
                       shape.type);
      case ir::SpecialKind::kGather:
      case ir::SpecialKind::kGatherElements:
      case ir::SpecialKind::kGatherNd:
        return EvalGather(special, coords, guard);
      default:
        return absl::InternalError(
            absl::StrCat(Name(special.kind), " ", program_.values[id].name, " is not in memory"));
    }
  }

  // Positions in the data consist of the result's coordinates before the gathered dimensions, the
  // index tensor's values, and the result's coordinates after the gathered dimensions.
  absl::StatusOr<ExprPtr> EvalGather(const ir::Special& special, const Coords& coords,
                                     const std::vector<RangeConstraint>& guard) {
    const ir::ValueId data = special.operands[0];
    const ir::ValueId index = special.operands[1];
    const TensorShape& data_shape = program_.values[data].shape;
    const int64_t data_rank = data_shape.rank();
    const int64_t index_rank = program_.values[index].shape.rank();
    const int64_t param = special.params[0];
    std::vector<ExprPtr> position(data_rank);
    auto keep = [&](int64_t dim, const Affine& coord) {
      position[dim] = MakeExpr(CoordinateType(data_shape), Coordinate{coord});
    };
    auto look_up = [&](int64_t dim, const Coords& at) -> absl::Status {
      TARTAN_ASSIGN_OR_RETURN(ExprPtr entry, Eval(index, at, guard));
      position[dim] = WrapIndex(entry, data_shape.dims[dim], CoordinateType(data_shape));
      return absl::OkStatus();
    };
    if (special.kind == ir::SpecialKind::kGather) {
      const Coords at(coords.begin() + param, coords.begin() + param + index_rank);
      for (int64_t d = 0; d < param; ++d) keep(d, coords[d]);
      TARTAN_RETURN_IF_ERROR(look_up(param, at));
      for (int64_t d = param + 1; d < data_rank; ++d) keep(d, coords[d + index_rank - 1]);
    } else if (special.kind == ir::SpecialKind::kGatherElements) {
      for (int64_t d = 0; d < data_rank; ++d) keep(d, coords[d]);
      TARTAN_RETURN_IF_ERROR(look_up(param, coords));
    } else {  // GatherND: index[batch…, outer…, k] for k gathered dimensions
      const int64_t gathered = program_.values[index].shape.dims.back();
      for (int64_t d = 0; d < param; ++d) keep(d, coords[d]);
      for (int64_t k = 0; k < gathered; ++k) {
        Coords at(coords.begin(), coords.begin() + index_rank - 1);
        at.push_back(Affine::Constant(k));
        TARTAN_RETURN_IF_ERROR(look_up(param + k, at));
      }
      for (int64_t d = param + gathered; d < data_rank; ++d) {
        keep(d, coords[index_rank - 1 + d - param - gathered]);
      }
    }
    return MakeExpr(ComputeType(data_shape.type), ReadAt{TensorNumber(data), position, guard});
  }

  const ir::Program& program_;
  const ProgramSpaces& spaces_;
  const ir::Grouping& grouping_;
  FlatContraction* flat_;
  ir::ValueId accumulator_ = ir::kNoValue;
  std::set<ir::ValueId> own_;
  std::map<std::string, ExprPtr> memo_;
};

void SetElementwiseSpace(const TensorShape& shape, FlatContraction* flat) {
  for (int64_t d = 0; d < shape.rank(); ++d) {
    flat->indices.push_back({absl::StrCat("i", d), shape.dims[d]});
    flat->output_coords.push_back(Affine::Variable(static_cast<int>(d)));
  }
  flat->output_index_count = static_cast<int>(shape.rank());
  flat->output_dims = shape.dims;
}

absl::Status SetReduction(const ir::Program& program, const ProgramSpaces& spaces, ir::ValueId root,
                          ExprBuilder* builder, FlatContraction* flat) {
  const ir::Value& value = program.values[root];
  const auto& contraction = std::get<ir::Contraction>(value.op);
  const IndexSpace& space = *spaces[root];
  flat->indices = space.indices;
  flat->output_index_count = space.output_index_count;
  flat->output_coords = space.output_coords;
  flat->output_dims = value.shape.dims;
  flat->constraints = space.constraints;
  flat->store_guard = space.store_guard;
  // At most one index point reaches each element, so its sum is that one value.
  flat->aggregation =
      contraction.aggregation == Aggregation::kAssign ? Aggregation::kSum : contraction.aggregation;
  flat->accumulator_type = ComputeType(value.shape.type);
  flat->may_be_empty = space.may_be_empty;
  // The body is evaluated only where the constraints hold, so reads need no guards.
  TARTAN_ASSIGN_OR_RETURN(flat->body,
                          builder->Combine(contraction, value.shape.type, space.original, {}));
  if (contraction.default_value != ir::kNoValue && space.may_be_empty) {
    TARTAN_ASSIGN_OR_RETURN(flat->empty_value,
                            builder->Eval(contraction.default_value, flat->output_coords, {}));
    flat->empty_value = Convert(flat->empty_value, value.shape.type);
  }
  return absl::OkStatus();
}

// Rewrites the output of a reduction that stores into a piece of a concatenation, or permuted.
absl::Status SetPiece(const ir::Program& program, ir::ValueId output, ExprBuilder* builder,
                      FlatContraction* flat) {
  const TensorShape& shape = program.values[output].shape;
  const auto& piece = std::get<ir::Contraction>(program.values[output].op);
  const ir::ValueId input = piece.inputs[0].tensor;
  const auto coords = ReshapeCoords(flat->output_coords, flat->output_dims,
                                    program.values[input].shape.dims, flat->indices);
  if (!coords.has_value()) {
    return absl::InternalError(
        absl::StrCat(program.values[output].name, " does not fit its kernel's index space"));
  }
  TARTAN_ASSIGN_OR_RETURN(ExprPtr expr, builder->Eval(input, *coords, {}));
  flat->outputs.push_back(
      {output, shape, WithoutRounding(Convert(std::move(expr), shape.type), shape.type)});
  std::vector<Affine> original(piece.index_names.size());
  for (size_t d = 0; d < coords->size(); ++d) {
    const Affine& index = piece.inputs[0].indices[d];
    original[index.single_variable()] = (*coords)[d] - Affine::Constant(index.constant);
  }
  flat->output_coords.clear();
  for (const Affine& coord : piece.output.indices) {
    flat->output_coords.push_back(coord.Substitute(original));
  }
  flat->output_dims = shape.dims;
  return absl::OkStatus();
}

}  // namespace

bool MovesElements(const IndexSpace& space) {
  if (!space.covers_output || !space.store_guard.empty()) return false;
  if (space.output_index_count != static_cast<int>(space.indices.size())) return false;
  std::set<int> seen;
  for (const Affine& coord : space.output_coords) {
    const int variable = coord.single_variable();
    if (variable < 0) {
      if (!coord.constant.is_zero()) return false;
      continue;
    }
    if (!(coord == Affine::Variable(variable)) || !seen.insert(variable).second) return false;
  }
  return static_cast<int>(seen.size()) == space.output_index_count;
}

absl::StatusOr<FlatContraction> BuildKernel(const ir::Program& program, const ProgramSpaces& spaces,
                                            const ir::Grouping& grouping,
                                            const ir::KernelGroup& group) {
  FlatContraction flat;
  ExprBuilder builder(program, spaces, grouping, &flat);
  const ir::ValueId first = group.outputs.front();
  flat.name = program.values[group.root == ir::kNoValue ? first : group.root].name;
  if (group.root == ir::kNoValue) {
    SetElementwiseSpace(program.values[first].shape, &flat);
  } else {
    TARTAN_RETURN_IF_ERROR(SetReduction(program, spaces, group.root, &builder, &flat));
    builder.SetAccumulator(group.root);
  }
  if (group.writes_piece(program)) {
    TARTAN_RETURN_IF_ERROR(SetPiece(program, first, &builder, &flat));
    return flat;
  }
  builder.SetOwn(group.outputs);
  for (ir::ValueId output : group.outputs) {
    const TensorShape& shape = program.values[output].shape;
    const auto coords =
        ReshapeCoords(flat.output_coords, flat.output_dims, shape.dims, flat.indices);
    if (!coords.has_value()) {
      return absl::InternalError(
          absl::StrCat(program.values[output].name, " does not fit its kernel's index space"));
    }
    TARTAN_ASSIGN_OR_RETURN(ExprPtr expr, builder.Eval(output, *coords, {}));
    flat.outputs.push_back(
        {output, shape, WithoutRounding(Convert(std::move(expr), shape.type), shape.type)});
  }
  return flat;
}

FlatContraction BuildConversion(std::string name, Tensor from, Output to) {
  FlatContraction flat;
  flat.name = std::move(name);
  SetElementwiseSpace(to.shape, &flat);
  from.shape.dims = to.shape.dims;
  flat.accesses.push_back({0, flat.output_coords, {}});
  to.expr = Convert(MakeExpr(ComputeType(from.shape.type), Read{0}), to.shape.type);
  flat.tensors.push_back(std::move(from));
  flat.outputs.push_back(std::move(to));
  return flat;
}

}  // namespace tartan::poly
