// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/naive_evaluator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_contraction.h"
#include "tile/ir/naive_elementwise.h"
#include "tile/ir/naive_special.h"
#include "tile/ir/naive_tensor.h"

namespace tartan::ir {
namespace {

class Evaluator {
 public:
  Evaluator(const Program& program, const NaiveOptions& options)
      : program_(program), points_(options.max_points), values_(program.values.size()) {}

  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor> inputs) {
    TARTAN_RETURN_IF_ERROR(SetInputs(inputs));
    std::vector<int> uses = UseCounts(program_);
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const Op& op = program_.values[i].op;
      if (std::holds_alternative<Input>(op)) continue;
      absl::StatusOr<NaiveTensor> result = EvaluateValue(static_cast<ValueId>(i));
      if (!result.ok()) {
        return absl::Status(result.status().code(),
                            absl::StrCat(program_.values[i].name, ": ", result.status().message()));
      }
      values_[i] = *std::move(result);
      for (const ValueId operand : Operands(op)) {
        if (--uses[operand] == 0) values_[operand] = NaiveTensor();
      }
    }
    std::vector<HostTensor> outputs;
    for (const ValueId id : program_.outputs) outputs.push_back(ToHost(values_[id]));
    return outputs;
  }

  int64_t points_left() const { return points_; }

 private:
  absl::Status SetInputs(absl::Span<const HostTensor> inputs) {
    if (inputs.size() != program_.inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the program takes ", program_.inputs.size(),
                                                     " inputs, not ", inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = program_.values[program_.inputs[i]];
      if (inputs[i].shape() != value.shape) {
        return absl::InvalidArgumentError(absl::StrCat("input ", value.name, " is ",
                                                       inputs[i].shape().ToString(), ", not ",
                                                       value.shape.ToString()));
      }
      values_[program_.inputs[i]] = FromHost(inputs[i]);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NaiveTensor> EvaluateValue(ValueId id) {
    using Result = absl::StatusOr<NaiveTensor>;
    const Value& value = program_.values[id];
    const int64_t elements = value.shape.element_count();
    if (elements > points_) {
      points_ = 0;
      return absl::ResourceExhaustedError(
          absl::StrCat(value.shape.ToString(), " has too many elements"));
    }
    if (!std::holds_alternative<Contraction>(value.op)) points_ -= elements;
    return Match(
        value.op, [](const Input&) -> Result { return absl::InternalError("an input"); },
        [&](const Constant& x) -> Result { return EvaluateConstant(x, value.shape); },
        [&](const Elementwise&) -> Result { return EvaluateElementwise(program_, id, values_); },
        [&](const Contraction& x) -> Result {
          return EvaluateContraction(program_, x, value.shape, values_, &points_);
        },
        [&](const Special& x) -> Result {
          std::vector<const NaiveTensor*> operands;
          for (const ValueId operand : x.operands) operands.push_back(&values_[operand]);
          return EvaluateSpecial(x, value.shape, operands);
        });
  }

  const Program& program_;
  int64_t points_;  // index points that may still be visited
  std::vector<NaiveTensor> values_;
};

}  // namespace

absl::StatusOr<std::vector<HostTensor>> EvaluateNaively(const Program& program,
                                                        absl::Span<const HostTensor> inputs,
                                                        const NaiveOptions& options) {
  Evaluator evaluator(program, options);
  absl::StatusOr<std::vector<HostTensor>> outputs = evaluator.Evaluate(inputs);
  if (options.points_left != nullptr) *options.points_left = evaluator.points_left();
  return outputs;
}

}  // namespace tartan::ir
