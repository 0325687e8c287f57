// SPDX-License-Identifier: Apache-2.0
// Interprets the attributes of a statement, [[name(argument, ...)]]; private to the binder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

// The name of the statement's value in dumps, kernels and profiles: the target's name, unless
// [[name]] specifies another. An error if [[name]] is malformed or repeated.
absl::StatusOr<std::string> BindAttributes(const Statement& statement, Scope& scope);

}  // namespace tartan::lang
