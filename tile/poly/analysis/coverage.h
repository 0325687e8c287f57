// SPDX-License-Identifier: Apache-2.0
// Whether every output element of an index space has a valid point.
#pragma once

#include "tile/poly/index_space.h"

namespace tartan::poly {

// False only when it is proven that every output point with the store guard has a reduced point
// with all constraints. Ignores space.may_be_empty.
bool MayBeEmpty(const IndexSpace& space);

}  // namespace tartan::poly
