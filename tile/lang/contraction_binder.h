// SPDX-License-Identifier: Apache-2.0
// Binds contraction statements; private to the binder.
#pragma once

#include "absl/status/statusor.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

// Appends the contraction with the name `label`. Errors: wrong ranks, sizes or polynomials, an
// unbounded index variable, or an element that the aggregation '=' writes twice.
absl::StatusOr<ir::ValueId> BindContraction(const Contraction& contraction, Position position,
                                            absl::string_view label, Scope& scope);

}  // namespace tartan::lang
