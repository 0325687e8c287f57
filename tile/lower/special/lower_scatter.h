// SPDX-License-Identifier: Apache-2.0
// Lowers scatters deterministically. Every element of the result takes its updates in memory order,
// so that results are the same on every device and in every execution.
#pragma once

#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// Handles kScatter, kScatterElements and kScatterNd. The result buffer is initialized: with zeros
// for kScatter, with the first operand otherwise. Requires updates.
void AddScatter(SpecialContext* context);

}  // namespace tartan::lower
