// SPDX-License-Identifier: Apache-2.0
// Decides whether every output element of an index space has a valid point.
#pragma once

#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

// Returns false only if every output point with the store guard provably has a reduced point that
// satisfies all constraints. Ignores space.may_be_empty.
bool MayBeEmpty(const IndexSpace& space);

}  // namespace tartan::poly
