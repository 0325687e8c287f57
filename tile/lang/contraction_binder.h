// SPDX-License-Identifier: Apache-2.0
// Contraction statements; private to the binder.
#pragma once

#include "absl/status/statusor.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

// Appends the contraction under the name `label`. An error where ranks, sizes or polynomials are
// wrong, where an index variable has no bound, and where the aggregation '=' writes an element
// twice.
absl::StatusOr<ir::ValueId> BindContraction(const Contraction& contraction, Position position,
                                            absl::string_view label, Scope& scope);

}  // namespace tartan::lang
