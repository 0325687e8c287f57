// SPDX-License-Identifier: Apache-2.0
// Whether products of narrow numbers are computed several at a time.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/poly/packed_product.h"

namespace tartan::plan {

// In what form, on devices with an instruction for it, where each word is used often enough to be
// worth packing.
std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings);

// Whether floats of a product are worth rounding to bfloat16, two to a word: plans decide then
// between those and the floats as they are. `is_constant` tells of each tensor whether it is packed
// once.
bool MayPackBFloat16(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);

}  // namespace tartan::plan
