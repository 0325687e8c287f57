// SPDX-License-Identifier: Apache-2.0
// Fuses a reduction into an elementwise kernel that reads several of its results per element. An
// example is the gates of an LSTM, from which the next states are computed.
#pragma once

#include <optional>

#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns the elementwise kernel `reader` with the sums of `producer`, which it reads as `result`,
// computed inline. Each tensor's value is the owner of its memory.
//
// Returns nothing in these cases:
// - The read positions are not equally spaced.
// - An element of the result would be computed more than once.
// - The producer stores another value than its sum with an epilogue.
std::optional<FlatContraction> FuseIntoConsumer(const FlatContraction& reader,
                                                const FlatContraction& producer,
                                                ir::ValueId result);

}  // namespace tartan::poly
