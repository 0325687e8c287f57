// SPDX-License-Identifier: Apache-2.0
// Whether a correlation is computed by Winograd's algorithm, and in tiles of what size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

enum class Winograd : uint8_t {
  kNever,
  kSmallTiles,   // tiles of 2x2, where they are faster: no less exact than direct sums
  kWhereFaster,  // those of 4x4, too
  kAlways,       // wherever it applies: for tests and comparisons
};

// The tile (of poly::MakeWinograd) with the least estimated time, on CPU devices; empty where the
// kernel is none of those to which the algorithm applies and, unless `use` is kAlways, where it
// would not gain a good part of the time or the time is too short to be worth more kernels.
// Constant weights are transformed at load. `precision`: what the direct kernel may be computed
// with.
std::optional<int64_t> SelectWinogradTile(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, Winograd use,
                                          Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
