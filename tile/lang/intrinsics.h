// SPDX-License-Identifier: Apache-2.0
// Tile's functions other than the scalar functions of base/scalar_op.h: casts, views, gather and
// scatter, sorting, scans, random numbers, tuples and assertions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

bool IsIntrinsic(absl::string_view function);

absl::StatusOr<Bound> BindIntrinsic(const BoundCall& call, Scope& scope);

// The scalar function of that name, including aliases such as "select".
std::optional<ScalarOp> ScalarFunction(absl::string_view function);

// All function names, sorted, for suggestions.
std::vector<absl::string_view> FunctionNames();

}  // namespace tartan::lang
