// SPDX-License-Identifier: Apache-2.0
// Whether products of narrow numbers are computed several at a time.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/poly/packed_product.h"

namespace tartan::plan {

// In what form, on devices with an instruction for it, where each word that is packed at each run
// is used often enough to be worth it. `is_constant` tells of each tensor whether it is packed
// once.
std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings,
                                                 const std::vector<bool>& is_constant);

// Whether floats of a product are worth rounding to bfloat16, two to a word: plans decide then
// between those and the floats as they are.
bool MayPackFloats(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   const std::vector<bool>& is_constant);

// Whether they are worth turning into int8: SelectPackedForm gives a form for the product of such.
bool MayQuantize(const poly::FlatContraction& flat, const HardwareSettings& settings,
                 const std::vector<bool>& is_constant);

}  // namespace tartan::plan
