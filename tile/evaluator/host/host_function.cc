// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/host_function.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/host/convert.h"
#include "tile/evaluator/host/elementwise.h"
#include "tile/graph/constants.h"
#include "tile/ir/naive_elementwise.h"
#include "tile/ir/naive_special.h"
#include "tile/poly/analysis/analyze_program.h"

namespace tartan::evaluator {
namespace {

using ir::NaiveTensor;
using ir::ValueId;

bool IsConstantInput(const ir::Program& program, ValueId id) {
  return std::get<ir::Input>(program.values[id].op).is_constant;
}

// Cost model of one core, in ns; empirical.
constexpr double kOperationNs = 500;  // starting an operation
constexpr double kElementNs = 2;      // per element of a program input or output
constexpr double kSpecialNs = 5;      // per element that a special operation reads or writes
constexpr double kComparisonNs = 10;  // per comparison when sorting

double SpecialNanoseconds(const ir::Program& program, const ir::Value& value) {
  const auto& special = std::get<ir::Special>(value.op);
  double elements = static_cast<double>(value.shape.element_count());
  if (special.kind == ir::SpecialKind::kReshape) return elements;
  double sorting = 0;
  if (special.kind == ir::SpecialKind::kSort || special.kind == ir::SpecialKind::kArgSort) {
    // Elements that are not wanted cost one comparison each.
    const auto line =
        static_cast<double>(program.values[special.operands[0]].shape.dims[special.params[0]]);
    sorting = kComparisonNs * elements * std::log2(line + 1);
  }
  for (const ValueId operand : special.operands) {
    elements += static_cast<double>(program.values[operand].shape.element_count());
  }
  return kSpecialNs * elements + sorting;
}

bool IsReshape(const ir::Op& op) {
  const auto* special = std::get_if<ir::Special>(&op);
  return special != nullptr && special->kind == ir::SpecialKind::kReshape;
}

}  // namespace

HostFunction::HostFunction(ir::Program program)
    : program_(std::move(program)), is_constant_(graph::FindConstants(program_)) {}

absl::StatusOr<std::shared_ptr<const HostFunction>> HostFunction::Create(ir::Program program) {
  std::shared_ptr<HostFunction> made(
      new HostFunction(ir::WithoutCustomGradients(std::move(program))));
  TARTAN_ASSIGN_OR_RETURN(const poly::ProgramSpaces spaces, poly::AnalyzeProgram(made->program_));
  made->contractions_.resize(spaces.size());
  for (size_t v = 0; v < spaces.size(); ++v) {
    if (!spaces[v].has_value()) continue;
    made->contractions_[v] =
        HostContraction::Create(made->program_, static_cast<ValueId>(v), *spaces[v]);
    if (!made->contractions_[v].has_value()) return std::shared_ptr<const HostFunction>();
  }
  made->Estimate();
  return made;
}

double HostFunction::Nanoseconds(ValueId id) const {
  const ir::Value& value = program_.values[id];
  if (contractions_[id].has_value()) return kOperationNs + contractions_[id]->nanoseconds();
  if (std::holds_alternative<ir::Elementwise>(value.op)) {
    return kOperationNs + ElementwiseNanoseconds(program_, id);
  }
  return kOperationNs + SpecialNanoseconds(program_, value);
}

void HostFunction::Estimate() {
  bool needs_kernel = false;  // for elementwise operations, or to store constants
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const ir::Value& value = program_.values[v];
    double& ns = is_constant_[v] ? load_ns_ : run_ns_;
    if (std::holds_alternative<ir::Input>(value.op)) {
      ns += kElementNs * static_cast<double>(value.shape.element_count());
      continue;
    }
    if (std::holds_alternative<ir::Constant>(value.op)) continue;
    const bool is_elementwise = std::holds_alternative<ir::Elementwise>(value.op);
    needs_kernel = needs_kernel || is_elementwise;
    if (!is_elementwise && !IsReshape(value.op)) ++kernels_;
    ns += Nanoseconds(static_cast<ValueId>(v));
  }
  for (const ValueId id : program_.outputs) {
    run_ns_ += kElementNs * static_cast<double>(program_.values[id].shape.element_count());
    needs_kernel |= std::holds_alternative<ir::Constant>(program_.values[id].op);
  }
  if (needs_kernel && kernels_ == 0) kernels_ = 1;
}

absl::StatusOr<std::vector<HostTensor>> HostFunction::Arrange(absl::Span<const HostTensor> given,
                                                              bool constants) const {
  std::vector<HostTensor> arranged(program_.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const ir::Value& input = program_.values[program_.inputs[i]];
    if (IsConstantInput(program_, program_.inputs[i]) != constants) continue;
    if (next == given.size() || given[next].shape() != input.shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "' is missing, or its shape is not ", input.shape.ToString()));
    }
    arranged[i] = given[next++];
  }
  return arranged;
}

NaiveTensor HostFunction::Evaluate(ValueId id, const Values& values) const {
  const ir::Value& value = program_.values[id];
  std::vector<const NaiveTensor*> operands;
  for (const ValueId operand : ir::Operands(value.op)) operands.push_back(values[operand].get());
  return Match(
      value.op, [](const ir::Input&) { return NaiveTensor(); },
      [&](const ir::Constant& x) { return ir::EvaluateConstant(x, value.shape); },
      [&](const ir::Elementwise&) { return EvaluateOnHost(program_, id, operands); },
      [&](const ir::Contraction& x) {
        const NaiveTensor* otherwise = nullptr;
        if (x.default_value != ir::kNoValue) otherwise = values[x.default_value].get();
        operands.resize(x.inputs.size());
        return contractions_[id]->Evaluate(operands, otherwise);
      },
      [&](const ir::Special& x) { return ir::EvaluateSpecial(x, value.shape, operands); });
}

absl::StatusOr<HostFunction::Known> HostFunction::Load(
    absl::Span<const HostTensor> constants) const {
  Known known;
  TARTAN_ASSIGN_OR_RETURN(known.constants, Arrange(constants, /*constants=*/true));
  Values values(program_.values.size());
  for (size_t i = 0; i < known.constants.size(); ++i) {
    const ValueId id = program_.inputs[i];
    if (!is_constant_[id]) continue;
    values[id] = std::make_shared<const NaiveTensor>(Widen(known.constants[i]));
  }
  // The values that executions read.
  std::vector<bool> is_read(values.size());
  for (const ValueId id : program_.outputs) is_read[id] = true;
  for (size_t v = 0; v < values.size(); ++v) {
    const ir::Op& op = program_.values[v].op;
    for (const ValueId operand : ir::Operands(op)) {
      if (!is_constant_[v]) is_read[operand] = true;
    }
    if (!is_constant_[v] || std::holds_alternative<ir::Input>(op)) continue;
    values[v] = std::make_shared<const NaiveTensor>(Evaluate(static_cast<ValueId>(v), values));
  }
  known.values.resize(values.size());
  for (size_t v = 0; v < values.size(); ++v) {
    if (is_read[v]) known.values[v] = std::move(values[v]);
  }
  return known;
}

absl::StatusOr<std::vector<HostTensor>> HostFunction::Run(
    const Known& known, absl::Span<const HostTensor> inputs) const {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> given,
                          Arrange(inputs, /*constants=*/false));
  Values values = known.values;
  std::vector<const HostTensor*> as_given(values.size(), nullptr);
  for (size_t i = 0; i < given.size(); ++i) {
    const ValueId id = program_.inputs[i];
    as_given[id] = is_constant_[id] ? &known.constants[i] : &given[i];
    if (!is_constant_[id]) values[id] = std::make_shared<const NaiveTensor>(Widen(given[i]));
  }
  std::vector<int> uses = ir::UseCounts(program_);
  for (size_t v = 0; v < values.size(); ++v) {
    const ir::Op& op = program_.values[v].op;
    if (is_constant_[v] || std::holds_alternative<ir::Input>(op)) continue;
    values[v] = std::make_shared<const NaiveTensor>(Evaluate(static_cast<ValueId>(v), values));
    for (const ValueId operand : ir::Operands(op)) {
      if (--uses[operand] == 0) values[operand] = nullptr;
    }
  }
  std::vector<HostTensor> outputs;
  for (const ValueId id : program_.outputs) {
    outputs.push_back(as_given[id] != nullptr ? *as_given[id] : Narrow(*values[id]));
  }
  return outputs;
}

}  // namespace tartan::evaluator
