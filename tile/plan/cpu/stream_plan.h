// SPDX-License-Identifier: Apache-2.0
// Plans for products of a few rows with a large matrix on CPUs: a token's or a few pictures' worth
// of a model. Reading the matrix is what takes time.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// All rows share one reading of the matrix, which is walked along its rows in several long streams
// at a time, as memory gives them quickest. Where results are neighbours along those rows, partial
// results wait in the first cache; where the sum goes along them, vectors hold partial results.
// Where memory prefers one stream, a constant matrix is packed so that it is one (packed_stream.h).
// Nothing where the kernel is another product, or its matrix is small enough for a cache.
std::optional<PlannedKernel> StreamPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings,
                                        const std::vector<bool>& is_constant);

}  // namespace tartan::plan
