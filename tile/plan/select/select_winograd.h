// SPDX-License-Identifier: Apache-2.0
// Decides whether a 3x3 convolution uses Winograd's algorithm, and with which tile size.
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
  kSmallTiles,   // 2x2 tiles if faster; as accurate as direct sums
  kWhereFaster,  // 2x2 or 4x4 tiles, if faster
  kAlways,       // whenever it applies, for tests and comparisons
};

// Returns the tile size for poly::MakeWinograd with the lowest estimated time. CPU devices only.
// Empty if the algorithm does not apply. Empty, too, if the gain is small or the kernel too short
// to repay more kernels, unless `use` is kAlways. Constant weights are transformed at load.
// `precision` is the precision that the direct kernel may use.
std::optional<int64_t> SelectWinogradTile(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, Winograd use,
                                          Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
