// SPDX-License-Identifier: Apache-2.0
// Recognizes operations that only move or convert elements.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns true for a contraction of one tensor whose result has elements of it and of its default
// value, or zeros: a transpose, slice, or padding, or the gradient of one.
bool MovesElements(const ir::Contraction& contraction);

// The same for any operation; reshapes move elements, too.
bool MovesElements(const ir::Value& value);

// Returns true for a conversion to another type.
bool IsCast(const ir::Value& value);

}  // namespace tartan::graph
