// Whether products of narrow integers are computed in pairs.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/poly/paired_product.h"

namespace tartan::plan {

// The kernels that do so, on CPU devices, where each pair is used often enough to be worth making.
std::optional<poly::PairedProduct> ChoosePairs(const poly::FlatContraction& flat,
                                               const HardwareSettings& settings);

}  // namespace tartan::plan
