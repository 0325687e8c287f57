// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/node_derivatives.h"

#include <algorithm>

#include "tile/autodiff/dependence.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

bool Stops(const lang::Expr& expr) {
  const auto* call = std::get_if<lang::Call>(&expr.node);
  if (call == nullptr) return false;
  const auto& arguments = call->arguments;
  return call->function == "stop_gradient" ||
         std::any_of(arguments.begin(), arguments.end(),
                     [](const lang::ExprPtr& argument) { return Stops(*argument); });
}

}  // namespace

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
