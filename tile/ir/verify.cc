// SPDX-License-Identifier: Apache-2.0
// Checks that ProgramBuilder could have built the program.
#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program.h"
#include "tile/ir/shape_rules.h"
#include "tile/ir/verify_stored.h"

namespace tartan::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  absl::Status Verify() {
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const absl::Status status = VerifyValue(static_cast<ValueId>(i));
      if (!status.ok()) {
        return absl::InternalError(
            absl::StrCat("value ", i, " (", program_.values[i].name, "): ", status.message()));
      }
    }
    return VerifyInterface();
  }

 private:
  absl::Status VerifyValue(ValueId id) {
    const Value& value = program_.values[id];
    TARTAN_RETURN_IF_ERROR(CheckShape(value.shape));
    for (const ValueId operand : Operands(value.op)) {
      if (operand < 0 || operand >= id) {
        return absl::InternalError(absl::StrCat("operand ", operand, " does not come before it"));
      }
    }
    TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, ComputedShape(value));
    if (shape == value.shape) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("its shape is ", value.shape.ToString(),
                                            ", but the operation gives ", shape.ToString()));
  }

  absl::StatusOr<TensorShape> ComputedShape(const Value& value) {
    using Result = absl::StatusOr<TensorShape>;
    return Match(
        value.op, [&](const Input&) -> Result { return value.shape; },
        [&](const Constant& x) -> Result {
          if (IsFloat(value.shape.type) != std::holds_alternative<double>(x.value)) {
            return absl::InternalError("the literal is not of the value's type");
          }
          return TensorShape{value.shape.type, {}};
        },
        [&](const Elementwise& x) -> Result {
          if (x.op != ScalarOp::kCast) return ElementwiseShape(program_, x);
          if (x.operands.size() != 1) return absl::InternalError("a cast has one operand");
          return TensorShape{value.shape.type, program_.values[x.operands[0]].shape.dims};
        },
        [&](const Contraction& x) { return ContractionShape(program_, x, value.shape.dims); },
        [&](const Special& x) -> Result {
          if (x.rule != nullptr) TARTAN_RETURN_IF_ERROR(ir::Verify(*x.rule));
          return SpecialShape(program_, x, value.shape.dims);
        });
  }

  absl::Status VerifyInterface() {
    size_t input_count = 0;
    for (const Value& value : program_.values) {
      if (std::holds_alternative<Input>(value.op)) ++input_count;
    }
    if (input_count != program_.inputs.size()) {
      return absl::InternalError("not every input is listed once");
    }
    const auto count = static_cast<ValueId>(program_.values.size());
    for (const ValueId id : program_.inputs) {
      if (id < 0 || id >= count || !std::holds_alternative<Input>(program_.values[id].op)) {
        return absl::InternalError(absl::StrCat("value ", id, " is listed as an input"));
      }
    }
    for (const ValueId id : program_.outputs) {
      if (id < 0 || id >= count)
        return absl::InternalError(absl::StrCat("an output names the unknown value ", id));
    }
    if (program_.outputs.size() != program_.output_names.size()) {
      return absl::InternalError("the numbers of outputs and of their names differ");
    }
    return absl::OkStatus();
  }

  const Program& program_;
};

}  // namespace

absl::Status Verify(const Program& program) { return Verifier(program).Verify(); }

absl::Status VerifyStored(const Program& program) {
  Program computed = program;
  for (Value& value : computed.values) value.shape.type = ComputeType(value.shape.type);
  TARTAN_RETURN_IF_ERROR(Verify(computed));
  for (const Value& value : program.values) {
    const auto* special = std::get_if<Special>(&value.op);
    if (special == nullptr || special->kind != SpecialKind::kReshape) continue;
    const TensorShape& shown = program.values[special->operands[0]].shape;
    if (shown.type == value.shape.type) continue;
    return absl::InternalError(absl::StrCat("the view ", value.name, " is stored as ",
                                            Name(value.shape.type), ", but its source is ",
                                            Name(shown.type)));
  }
  return absl::OkStatus();
}

}  // namespace tartan::ir
