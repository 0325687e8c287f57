// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/program_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/ir/fold.h"
#include "tile/ir/renumber.h"
#include "tile/ir/shape_rules.h"

namespace tartan::ir {
namespace {

// The nominal type of a weak integer.
DataType IntegerType(int64_t value) {
  const bool is_small =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  return is_small ? DataType::kInt32 : DataType::kInt64;
}

}  // namespace

ValueId ProgramBuilder::Append(std::string name, TensorShape shape, Op op) {
  program_.values.push_back({std::move(name), std::move(shape), std::move(op)});
  return static_cast<ValueId>(program_.values.size() - 1);
}

ValueId ProgramBuilder::Literal(DataType type, Constant constant) {
  const bool is_real = std::holds_alternative<double>(constant.value);
  const uint64_t bits = is_real ? std::bit_cast<uint64_t>(std::get<double>(constant.value))
                                : static_cast<uint64_t>(std::get<int64_t>(constant.value));
  const auto [it, inserted] =
      literals_.emplace(LiteralKey{type, constant.weak, is_real, bits}, kNoValue);
  if (inserted) it->second = Append("", {type, {}}, constant);
  return it->second;
}

absl::StatusOr<ValueId> ProgramBuilder::AddInput(std::string name, TensorShape shape, Input input) {
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  const ValueId id = Append(std::move(name), std::move(shape), input);
  program_.inputs.push_back(id);
  return id;
}

ValueId ProgramBuilder::AddConstant(int64_t value) {
  return Literal(IntegerType(value), {value, true});
}

ValueId ProgramBuilder::AddConstant(double value) {
  return Literal(DataType::kFloat32, {value, true});
}

ValueId ProgramBuilder::AddConstant(DataType type, double value) {
  const ir::Literal literal = ConvertLiteral({DataType::kFloat64, {value, true}}, type);
  return Literal(type, literal.constant);
}

absl::StatusOr<ValueId> ProgramBuilder::AddElementwise(ScalarOp op,
                                                       absl::Span<const ValueId> operands,
                                                       std::string name) {
  if (op == ScalarOp::kCast) {
    return absl::InvalidArgumentError("a cast needs a type: use AddCast");
  }
  Elementwise elementwise{op, {operands.begin(), operands.end()}};
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ElementwiseShape(program_, elementwise));
  std::vector<ir::Literal> literals;
  for (const ValueId id : operands) {
    const auto* constant = std::get_if<Constant>(&program_.values[id].op);
    if (constant != nullptr) literals.push_back({program_.values[id].shape.type, *constant});
  }
  if (literals.size() < operands.size()) {
    return Append(std::move(name), std::move(shape), std::move(elementwise));
  }
  const ir::Literal folded = FoldLiterals(op, literals);
  if (!folded.constant.weak) return Literal(folded.type, folded.constant);
  const auto* integer = std::get_if<int64_t>(&folded.constant.value);
  return integer != nullptr ? AddConstant(*integer)
                            : AddConstant(std::get<double>(folded.constant.value));
}

// If `operand` is a float that was cast to `type` and back to a wider type, returns the narrow one.
ValueId ProgramBuilder::RoundedBefore(ValueId operand, DataType type) const {
  const auto source = [this](ValueId id) {
    const auto* cast = std::get_if<Elementwise>(&program_.values[id].op);
    return cast != nullptr && cast->op == ScalarOp::kCast ? cast->operands[0] : kNoValue;
  };
  const auto is_wider = [&](ValueId id) {
    const DataType wide = program_.values[id].shape.type;
    return IsFloat(wide) && ByteWidth(wide) > ByteWidth(type);
  };
  const ValueId narrow = source(operand);
  if (!IsFloat(type) || !is_wider(operand) || narrow == kNoValue) return kNoValue;
  if (program_.values[narrow].shape.type != type) return kNoValue;
  const ValueId before = source(narrow);
  return before != kNoValue && is_wider(before) ? narrow : kNoValue;
}

absl::StatusOr<ValueId> ProgramBuilder::AddCast(ValueId operand, DataType type, std::string name) {
  if (type == DataType::kInvalid) return absl::InvalidArgumentError("a cast to no type");
  const Value& value = program_.values[operand];
  if (const auto* constant = std::get_if<Constant>(&value.op)) {
    return Literal(type, ConvertLiteral({value.shape.type, *constant}, type).constant);
  }
  if (const ValueId same = RoundedBefore(operand, type); same != kNoValue) return same;
  const TensorShape shape{type, value.shape.dims};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  return Append(std::move(name), shape, Elementwise{ScalarOp::kCast, {operand}});
}

absl::StatusOr<ValueId> ProgramBuilder::AddContraction(Contraction contraction,
                                                       std::vector<int64_t> dims,
                                                       std::string name) {
  contraction.output.tensor = kNoValue;
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, ContractionShape(program_, contraction, dims));
  return Append(std::move(name), std::move(shape), std::move(contraction));
}

absl::StatusOr<ValueId> ProgramBuilder::AddSpecial(SpecialKind kind,
                                                   absl::Span<const ValueId> operands,
                                                   absl::Span<const int64_t> params,
                                                   std::string name) {
  Special special{kind, {operands.begin(), operands.end()}, {params.begin(), params.end()}};
  std::vector<int64_t> dims;
  if (kind == SpecialKind::kReshape || kind == SpecialKind::kPrng) dims.swap(special.params);
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, SpecialShape(program_, special, dims));
  return Append(std::move(name), std::move(shape), std::move(special));
}

absl::StatusOr<ValueId> ProgramBuilder::AddCustomGradient(ValueId value,
                                                          absl::Span<const ValueId> inputs,
                                                          Program rule, std::string name) {
  Special special{SpecialKind::kCustomGradient, {value}, {}, nullptr};
  special.operands.insert(special.operands.end(), inputs.begin(), inputs.end());
  special.rule = std::make_shared<const Program>(std::move(rule));
  TARTAN_ASSIGN_OR_RETURN(TensorShape shape, SpecialShape(program_, special, {}));
  return Append(std::move(name), std::move(shape), std::move(special));
}

absl::StatusOr<ValueId> ProgramBuilder::AddStopGradient(ValueId value, std::string name) {
  const bool is_literal = std::holds_alternative<Constant>(program_.values[value].op);
  if (is_literal || !IsFloat(shape(value).type)) return value;
  return AddSpecial(SpecialKind::kCustomGradient, {value}, {}, std::move(name));
}

absl::StatusOr<std::vector<ValueId>> ProgramBuilder::AddProgram(
    const Program& program, absl::Span<const ValueId> arguments) {
  if (arguments.size() != program.inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a program of ", program.inputs.size(),
                                                   " inputs is given ", arguments.size()));
  }
  std::vector<ValueId> map(program.values.size(), kNoValue);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorShape& wanted = program.values[program.inputs[i]].shape;
    if (shape(arguments[i]) != wanted) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ", wanted.ToString(),
                                                     " but is given ",
                                                     shape(arguments[i]).ToString()));
    }
    map[program.inputs[i]] = arguments[i];
  }
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (map[i] != kNoValue) continue;
    Value value = program.values[i];
    const auto* constant = std::get_if<Constant>(&value.op);
    if (constant != nullptr) {
      map[i] = Literal(value.shape.type, *constant);
      continue;
    }
    RenumberOperands(value.op, map);
    map[i] = Append(std::move(value.name), std::move(value.shape), std::move(value.op));
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : program.outputs) outputs.push_back(map[output]);
  return outputs;
}

void ProgramBuilder::SetName(ValueId value, std::string name) {
  if (program_.values[value].name.empty()) program_.values[value].name = std::move(name);
}

void ProgramBuilder::AddOutput(ValueId value, std::string name) {
  program_.outputs.push_back(value);
  program_.output_names.push_back(std::move(name));
}

absl::StatusOr<Program> ProgramBuilder::Build() && {
  Program program = WithoutDeadValues(std::move(program_));
  TARTAN_RETURN_IF_ERROR(Verify(program));
  return program;
}

}  // namespace tartan::ir
