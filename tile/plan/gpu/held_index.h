// SPDX-License-Identifier: Apache-2.0
// Finds the output index of which a work-item computes all values.
#pragma once

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the index of accumulators, or one that no access and no constraint of a sum depends on,
// so that other work-items would load the same elements. Returns -1 if there is none.
int HeldIndex(const poly::FlatContraction& flat);

}  // namespace tartan::plan
