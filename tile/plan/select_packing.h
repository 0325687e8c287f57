// SPDX-License-Identifier: Apache-2.0
// Whether products of narrow integers are computed several at a time.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/poly/packed_product.h"

namespace tartan::plan {

// In what form, on devices with an instruction for it, where each word is used often enough to be
// worth packing.
std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings);

}  // namespace tartan::plan
