// SPDX-License-Identifier: Apache-2.0
// Binds expressions of elementwise statements and of sizes; private to the binder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"
#include "tile/math/affine.h"

namespace tartan::lang {

// The value of `expr`; operations are appended to the scope's program, the last one named `target`.
absl::StatusOr<Bound> BindExpression(const Expr& expr, const std::string& target, Scope& scope);

// A size or the bound of a constraint: a compile-time integer. `what` names it in messages.
absl::StatusOr<int64_t> BindSize(const Expr& expr, const std::string& what, Scope& scope);

// Index variables of one contraction in order of appearance.
using IndexNames = std::vector<std::string>;

// An index polynomial, with exact '/': x/3 and 1/3*x have a rational coefficient. An error if it is
// never an integer. Adds new variables to `names`.
absl::StatusOr<math::Affine> BindPolynomial(const Expr& expr, Scope& scope, IndexNames& names);

}  // namespace tartan::lang
