// SPDX-License-Identifier: Apache-2.0
// A kernel's form as a byte string: everything that planning and lowering depend on.
#pragma once

#include <string>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns a key that is equal for kernels that differ only in names, comments and values.
std::string FormKey(const FlatContraction& flat);

}  // namespace tartan::poly
