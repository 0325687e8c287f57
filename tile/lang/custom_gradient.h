// SPDX-License-Identifier: Apache-2.0
// custom_gradient(Y, rule, X, ...): Y with a derivative that a function of the text gives; private
// to the binder.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

inline constexpr absl::string_view kCustomGradient = "custom_gradient";

// `bound` has the arguments of `call`, but for the name of the rule in second place.
absl::StatusOr<Bound> BindCustomGradient(const Call& call, const BoundCall& bound, Scope& scope);

}  // namespace tartan::lang
