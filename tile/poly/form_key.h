// SPDX-License-Identifier: Apache-2.0
// A kernel's form as bytes: everything that planning and lowering depend on.
#pragma once

#include <string>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Equal for kernels that differ in names, comments and the values that they read and write alone.
std::string FormKey(const FlatContraction& flat);

}  // namespace tartan::poly
