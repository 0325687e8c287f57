// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/gradient.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/autodiff/dependence.h"
#include "tile/autodiff/rules.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"

namespace tartan::autodiff {
namespace {

absl::Status CheckPositions(absl::Span<const int> positions, size_t count, absl::string_view what) {
  for (const int position : positions) {
    if (position < 0 || position >= static_cast<int>(count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no ", what, " ", position, ": the program has ", count));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArguments(const ir::Program& program, absl::Span<const int> wrt,
                            const GradientOptions& options) {
  TARTAN_RETURN_IF_ERROR(CheckPositions(wrt, program.inputs.size(), "input"));
  TARTAN_RETURN_IF_ERROR(CheckPositions(options.outputs, program.outputs.size(), "output"));
  TARTAN_RETURN_IF_ERROR(CheckPositions(options.stops, program.values.size(), "value"));
  for (const int position : wrt) {
    const ir::Value& input = program.values[program.inputs[position]];
    if (!MayHaveDerivative(input.shape.type, options)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", position, " (", input.name, ") is ",
                                                     input.shape.ToString(),
                                                     ": only floats have gradients"));
    }
  }
  return absl::OkStatus();
}

class Differentiator {
 public:
  Differentiator(const ir::Program& program, const GradientOptions& options)
      : program_(program),
        options_(options),
        builder_(program),
        emit_(builder_),
        gradients_(program.values.size(), ir::kNoValue) {}

  absl::StatusOr<ir::Program> Run(absl::Span<const int> wrt) {
    depends_ = FindDependents(program_, wrt, options_);
    TARTAN_RETURN_IF_ERROR(Seed());
    for (size_t i = program_.values.size(); i-- > 0;) {
      if (gradients_[i] == ir::kNoValue) continue;
      Propagate(static_cast<ValueId>(i));
      if (!emit_.status().ok()) return WithContext(emit_.status(), program_.values[i]);
    }
    for (const int position : wrt) {
      const ValueId input = program_.inputs[position];
      const ValueId gradient =
          gradients_[input] != ir::kNoValue ? gradients_[input] : emit_.Zeros(GradientShape(input));
      builder_.AddOutput(gradient, absl::StrCat(program_.values[input].name, "_grad"));
    }
    TARTAN_RETURN_IF_ERROR(emit_.status());
    return std::move(builder_).Build();
  }

 private:
  static absl::Status WithContext(const absl::Status& status, const ir::Value& value) {
    return absl::Status(status.code(),
                        absl::StrCat("gradient of ", value.name, ": ", status.message()));
  }

  absl::Status Seed() {
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ValueId output = program_.outputs[i];
      const TensorShape shape = GradientShape(output);
      const bool takes_part =
          options_.outputs.empty() ||
          std::find(options_.outputs.begin(), options_.outputs.end(), i) != options_.outputs.end();
      const DataType type = program_.values[output].shape.type;
      if (!takes_part || !MayHaveDerivative(type, options_)) continue;
      ValueId seed = ir::kNoValue;
      if (options_.seeded) {
        TARTAN_ASSIGN_OR_RETURN(
            seed, builder_.AddInput(absl::StrCat(program_.output_names[i], "_seed"), shape));
      }
      if (!depends_[output]) continue;
      Accumulate(output, options_.seeded ? seed : emit_.Ones(shape));
    }
    return emit_.status();
  }

  // Returns the shape and type of the gradient of a value.
  TensorShape GradientShape(ValueId value) const {
    const TensorShape& shape = program_.values[value].shape;
    return {GradientType(shape.type), shape.dims};
  }

  void Accumulate(ValueId value, ValueId part) {
    part = emit_.SumTo(part, GradientShape(value));
    ValueId& sum = gradients_[value];
    sum = sum == ir::kNoValue ? part : emit_.Add(sum, part);
  }

  // Passes the gradient of a value to its operands. Requires that it is complete.
  void Propagate(ValueId value) {
    const ir::Op& op = program_.values[value].op;
    const std::vector<ValueId> operands = ir::Operands(op);
    Site site{value, gradients_[value], options_.ties, options_.straight_through, {}};
    for (const ValueId operand : operands) site.wanted.push_back(depends_[operand]);
    const Parts parts = Match(
        op, [](const ir::Input&) { return Parts(); }, [](const ir::Constant&) { return Parts(); },
        [&](const ir::Elementwise& x) { return ElementwiseGradient(emit_, x, site); },
        [&](const ir::Contraction& x) { return ContractionGradient(emit_, x, site); },
        [&](const ir::Special& x) { return SpecialGradient(emit_, x, site); });
    if (!emit_.status().ok()) return;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] != ir::kNoValue && site.wanted[i]) Accumulate(operands[i], parts[i]);
    }
  }

  const ir::Program& program_;
  const GradientOptions& options_;
  ir::ProgramBuilder builder_;  // begins with the program's values and their numbers
  Emitter emit_;
  std::vector<bool> depends_;
  std::vector<ValueId> gradients_;  // per value of the program; kNoValue: 0
};

}  // namespace

absl::StatusOr<ir::Program> Gradient(const ir::Program& program, absl::Span<const int> wrt,
                                     const GradientOptions& options) {
  TARTAN_RETURN_IF_ERROR(CheckArguments(program, wrt, options));
  return Differentiator(program, options).Run(wrt);
}

}  // namespace tartan::autodiff
