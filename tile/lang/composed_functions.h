// SPDX-License-Identifier: Apache-2.0
// Functions of PlaidML's Tile that are defined by Tile texts; private to the binder.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/lang/scope.h"

namespace tartan::lang {

// builtin_softmax, builtin_logsoftmax, builtin_binary_crossentropy, prng_step, prng_state,
// prng_value, reverse_grad.
bool IsComposed(absl::string_view function);

// Requires IsComposed(call.function).
absl::StatusOr<Bound> BindComposed(const BoundCall& call, Scope& scope);

}  // namespace tartan::lang
