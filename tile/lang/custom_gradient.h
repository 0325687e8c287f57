// SPDX-License-Identifier: Apache-2.0
// Binds custom_gradient(Y, rule, X, ...): Y with a gradient that a function of the text computes;
// private to the binder.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

inline constexpr absl::string_view kCustomGradient = "custom_gradient";

// `bound` has the arguments of `call` without the second one, the rule's name.
absl::StatusOr<Bound> BindCustomGradient(const Call& call, const BoundCall& bound, Scope& scope);

}  // namespace tartan::lang
