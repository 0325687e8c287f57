// SPDX-License-Identifier: Apache-2.0
// Scatters in parallel and yet in order: every element of the result takes its updates one after
// the other as they stand in memory, so results are the same on every device and at every run.
#pragma once

#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// For kScatter, kScatterElements and kScatterNd. The result holds what it starts with: zeros for
// kScatter, the first operand for others. Requires updates.
void AddScatter(SpecialContext* context);

}  // namespace tartan::lower
