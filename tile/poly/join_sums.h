// SPDX-License-Identifier: Apache-2.0
// A reduction that elementwise work reads at several places for each of its own elements, computed
// where it is read: the gates of a recurrent network, of which the next states are made.
#pragma once

#include <optional>

#include "tile/ir/program.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// `reader`, an elementwise kernel, with the sums of `producer` that it reads as `result`. All
// tensors of both have the values whose memory they are. Nothing where the places at which it reads
// them are not the same distance apart, where an element of the result would be computed more than
// once, or where what is stored is not what the sums are.
std::optional<FlatContraction> JoinSums(const FlatContraction& reader,
                                        const FlatContraction& producer, ir::ValueId result);

}  // namespace tartan::poly
