// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/in_float64.h"

#include <algorithm>
#include <utility>

#include "tile/base/match.h"
#include "tile/base/scalar_value.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program_builder.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

DataType WideType(DataType type) { return IsFloat(type) ? DataType::kFloat64 : type; }

// Rebuilds the program, so that every type follows from the types of the operands.
class Widening {
 public:
  explicit Widening(const Program& program) : program_(program) {}

  absl::StatusOr<Program> Run() && {
    for (const Value& value : program_.values) {
      TARTAN_ASSIGN_OR_RETURN(ValueId made,
                              Match(value.op, [&](const auto& op) { return Add(value, op); }));
      const DataType type = builder_.shape(made).type;
      if (type != WideType(type)) {
        TARTAN_ASSIGN_OR_RETURN(made, builder_.AddCast(made, DataType::kFloat64));
      }
      numbers_.push_back(made);
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      builder_.AddOutput(numbers_[program_.outputs[i]], program_.output_names[i]);
    }
    TARTAN_ASSIGN_OR_RETURN(Program result, std::move(builder_).Build());
    result.name = program_.name;
    return result;
  }

 private:
  using Made = absl::StatusOr<ValueId>;

  Made Add(const Value& value, const Input& input) {
    return builder_.AddInput(value.name, {WideType(value.shape.type), value.shape.dims}, input);
  }

  Made Add(const Value& value, const Constant& constant) {
    const DataType type = value.shape.type;
    if (IsFloat(type)) {
      return builder_.AddConstant(DataType::kFloat64, RoundReal(constant.AsDouble(), type));
    }
    const ValueId literal = builder_.AddConstant(std::get<int64_t>(constant.value));
    return constant.weak ? literal : builder_.AddCast(literal, type);
  }

  Made Add(const Value& value, const Elementwise& elementwise) {
    std::vector<ValueId> operands = NumbersOf(elementwise.operands);
    if (elementwise.op == ScalarOp::kCast) {
      return builder_.AddCast(operands[0], WideType(value.shape.type), value.name);
    }
    // Float functions of integers would give float32, so the integers are cast first.
    const bool has_floats = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
      return IsFloat(builder_.shape(operand).type);
    });
    if (IsFloatFunction(elementwise.op) && !has_floats) {
      for (ValueId& operand : operands) {
        TARTAN_ASSIGN_OR_RETURN(operand, builder_.AddCast(operand, DataType::kFloat64));
      }
    }
    return builder_.AddElementwise(elementwise.op, operands, value.name);
  }

  Made Add(const Value& value, Contraction contraction) {
    std::vector<ValueId> operands;
    for (const Access& access : contraction.inputs) operands.push_back(access.tensor);
    operands = NumbersOf(operands);
    for (size_t i = 0; i < operands.size(); ++i) contraction.inputs[i].tensor = operands[i];
    if (contraction.default_value != kNoValue) {
      contraction.default_value = numbers_[contraction.default_value];
    }
    return builder_.AddContraction(std::move(contraction), value.shape.dims, value.name);
  }

  Made Add(const Value& value, const Special& special) {
    const bool has_sizes =
        special.kind == SpecialKind::kReshape || special.kind == SpecialKind::kPrng;
    return builder_.AddSpecial(special.kind, NumbersOf(special.operands),
                               has_sizes ? value.shape.dims : special.params, value.name);
  }

  // The new values of an operation's operands. A weak constant next to a float64 operand was never
  // rounded to float32, and stays so.
  std::vector<ValueId> NumbersOf(const std::vector<ValueId>& operands) {
    const bool is_double = std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
      return program_.values[operand].shape.type == DataType::kFloat64;
    });
    std::vector<ValueId> numbers;
    for (const ValueId operand : operands) {
      const Value& value = program_.values[operand];
      const auto* constant = std::get_if<Constant>(&value.op);
      const bool is_exact =
          is_double && constant != nullptr && constant->weak && IsFloat(value.shape.type);
      numbers.push_back(is_exact ? builder_.AddConstant(DataType::kFloat64, constant->AsDouble())
                                 : numbers_[operand]);
    }
    return numbers;
  }

  const Program& program_;
  ProgramBuilder builder_;
  std::vector<ValueId> numbers_;  // maps the program's values to the new ones
};

}  // namespace

absl::StatusOr<Program> InFloat64(const Program& program) {
  const Program values_alone = WithoutCustomGradients(program);
  return Widening(values_alone).Run();
}

HostTensor InFloat64(const HostTensor& tensor) {
  if (tensor.type() == WideType(tensor.type())) return tensor;
  return HostTensor::FromVector({DataType::kFloat64, tensor.shape().dims}, tensor.ToDoubles());
}

}  // namespace tartan::ir
