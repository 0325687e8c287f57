// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/pull_back.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "tile/autodiff/dependence.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/binder.h"
#include "tile/lang/custom_gradient.h"

namespace tartan::api {
namespace {

// A program and the tensors passed as its inputs.
struct AppliedCall {
  ir::Program program;
  std::vector<Tensor> arguments;
};

// If `id` is another value rounded to a narrower type and converted back, returns that value before
// rounding; otherwise `id`.
ir::ValueId BeforeRounding(const ir::Program& program, ir::ValueId id) {
  const DataType type = program.values[id].shape.type;
  ir::ValueId before = id;
  while (true) {
    const auto* conversion = std::get_if<ir::Elementwise>(&program.values[id].op);
    if (conversion == nullptr || conversion->op != ScalarOp::kCast) return before;
    id = conversion->operands[0];
    if (!IsFloat(program.values[id].shape.type)) return before;
    if (program.values[id].shape.type == type) before = id;
  }
}

// Turns the first `count` outputs, the results of `node`, into inputs that the other outputs read.
// For a rounded result, the value before rounding is replaced by the result: derivatives use the
// rounded value, and only that is stored.
void ReadResults(const std::shared_ptr<const TensorNode>& node, size_t count, AppliedCall* call) {
  for (size_t result = 0; result < count; ++result) {
    const ir::ValueId id = BeforeRounding(call->program, call->program.outputs[result]);
    ir::Value& value = call->program.values[id];
    if (std::holds_alternative<ir::Input>(value.op)) continue;
    if (std::holds_alternative<ir::Constant>(value.op)) continue;
    value.op = ir::Input{};
    call->program.inputs.push_back(id);
    call->arguments.push_back(Tensor(node, static_cast<int>(result)));
  }
  const auto erase_first = [count](auto& items) {
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  };
  erase_first(call->program.outputs);
  erase_first(call->program.output_names);
}

absl::Status RemoveDeadValues(ir::Program* program) {
  TARTAN_ASSIGN_OR_RETURN(*program, ir::ProgramBuilder(std::move(*program)).Build());
  return absl::OkStatus();
}

// Removes values and inputs that the outputs do not need.
absl::Status RemoveUnused(AppliedCall* call) {
  TARTAN_RETURN_IF_ERROR(RemoveDeadValues(&call->program));
  const std::vector<int> uses = ir::UseCounts(call->program);
  std::vector<ir::ValueId> inputs;
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < call->program.inputs.size(); ++i) {
    if (uses[call->program.inputs[i]] == 0) continue;
    inputs.push_back(call->program.inputs[i]);
    arguments.push_back(call->arguments[i]);
  }
  call->program.inputs = std::move(inputs);
  call->arguments = std::move(arguments);
  return RemoveDeadValues(&call->program);
}

bool Stops(const lang::Expr& expr) {
  const auto* call = std::get_if<lang::Call>(&expr.node);
  if (call == nullptr) return false;
  const auto& arguments = call->arguments;
  return call->function == "stop_gradient" || call->function == lang::kCustomGradient ||
         std::any_of(arguments.begin(), arguments.end(),
                     [](const lang::ExprPtr& argument) { return Stops(*argument); });
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> PullBack(const std::shared_ptr<const TensorNode>& node,
                                             absl::Span<const Tensor> gradients,
                                             const std::vector<bool>& wanted,
                                             autodiff::GradientOptions options) {
  const auto& application = std::get<ApplicationNode>(node->kind);
  AppliedCall call;
  call.arguments.assign(application.inputs.begin(), application.inputs.end());
  std::vector<TensorShape> shapes;
  std::vector<int> wrt;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    shapes.push_back(call.arguments[i].shape());
    if (wanted[i]) wrt.push_back(static_cast<int>(i));
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::Program forward, lang::Bind(*application.function, shapes, {}));

  options.seeded = true;
  for (size_t result = 0; result < gradients.size(); ++result) {
    if (!gradients[result].defined()) continue;
    options.outputs.push_back(static_cast<int>(result));
    call.arguments.push_back(gradients[result]);
  }
  const std::string what = node->name.empty() ? "a function" : node->name;
  absl::StatusOr<ir::Program> program = autodiff::Gradient(forward, wrt, options);
  if (!program.ok()) {
    return absl::Status(program.status().code(),
                        absl::StrCat(what, ": ", program.status().message()));
  }
  call.program = *std::move(program);
  ReadResults(node, forward.outputs.size(), &call);
  TARTAN_RETURN_IF_ERROR(RemoveUnused(&call));
  TARTAN_ASSIGN_OR_RETURN(const Function function, Function::FromTile(ir::ToTile(call.program)));
  return function.Apply(call.arguments, absl::StrCat(node->name, "_grad"));
}

absl::StatusOr<NodeDerivatives> DerivativesOf(const ApplicationNode& application,
                                              const autodiff::GradientOptions& options) {
  std::vector<TensorShape> shapes;
  for (const NodeResult& input : application.inputs) {
    shapes.push_back(input.node->shapes[input.result]);
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(*application.function, shapes, {}));
  return autodiff::FindDerivatives(program, options);
}

bool StopsGradients(const lang::Function& function) {
  return std::any_of(function.statements.begin(), function.statements.end(),
                     [](const lang::Statement& statement) {
                       const auto* assignment = std::get_if<lang::Assignment>(&statement.node);
                       return assignment != nullptr && Stops(*assignment->value);
                     });
}

}  // namespace tartan::api
