// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/dependence.h"

#include <algorithm>

#include "tile/autodiff/rules.h"

namespace tartan::autodiff {
namespace {

bool PassesGradient(const ir::Op& op, const GradientOptions& options) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&op);
  if (elementwise == nullptr) return true;
  if (IsRounding(elementwise->op)) return options.straight_through;
  return elementwise->op != ScalarOp::kSign;
}

// Returns the operands that the operation passes its gradient to. The first operand of a custom
// gradient is the value itself. Its rule has derivatives by the first floats among the others.
std::vector<ir::ValueId> Sources(const ir::Program& program, const ir::Op& op) {
  std::vector<ir::ValueId> operands = ir::Operands(op);
  const auto* special = std::get_if<ir::Special>(&op);
  if (special == nullptr || special->kind != ir::SpecialKind::kCustomGradient) return operands;
  const size_t derivatives = special->rule == nullptr ? 0 : special->rule->outputs.size();
  std::vector<ir::ValueId> sources;
  for (size_t o = 1; o < operands.size() && sources.size() < derivatives; ++o) {
    if (IsFloat(program.values[operands[o]].shape.type)) sources.push_back(operands[o]);
  }
  return sources;
}

}  // namespace

bool MayHaveDerivative(DataType type, const GradientOptions& options) {
  return IsFloat(type) || (options.straight_through && IsInteger(type));
}

std::vector<bool> FindDependents(const ir::Program& program, absl::Span<const int> inputs,
                                 const GradientOptions& options) {
  std::vector<bool> depends(program.values.size(), false);
  for (const int position : inputs) depends[program.inputs[position]] = true;
  for (size_t i = 0; i < program.values.size(); ++i) {
    const ir::Value& value = program.values[i];
    if (MayHaveDerivative(value.shape.type, options) && PassesGradient(value.op, options)) {
      for (const ir::ValueId source : Sources(program, value.op)) {
        if (depends[source]) depends[i] = true;
      }
    }
    const auto& stops = options.stops;
    if (std::find(stops.begin(), stops.end(), static_cast<ir::ValueId>(i)) != stops.end())
      depends[i] = false;
  }
  return depends;
}

std::vector<std::vector<bool>> FindDerivatives(const ir::Program& program,
                                               const GradientOptions& options) {
  std::vector<std::vector<bool>> found;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    std::vector<bool>& outputs = found.emplace_back(program.outputs.size(), false);
    if (!MayHaveDerivative(program.values[program.inputs[i]].shape.type, options)) continue;
    const int position = static_cast<int>(i);
    const std::vector<bool> depends =
        FindDependents(program, absl::MakeConstSpan(&position, 1), options);
    for (size_t o = 0; o < program.outputs.size(); ++o) outputs[o] = depends[program.outputs[o]];
  }
  return found;
}

DataType GradientType(DataType type) { return IsFloat(type) ? type : DataType::kFloat32; }

}  // namespace tartan::autodiff
