// SPDX-License-Identifier: Apache-2.0
// What the attributes of a statement, [[name(argument, ...)]], mean; private to the binder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/lang/ast.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

// The name of the statement's value in dumps, kernels and profiles: its target's, unless [[name]]
// gives another. An error for attributes that do not exist.
absl::StatusOr<std::string> BindAttributes(const Statement& statement, Scope& scope);

}  // namespace tartan::lang
