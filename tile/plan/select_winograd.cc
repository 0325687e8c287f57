// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select_winograd.h"

#include <algorithm>

#include "tile/poly/winograd.h"

namespace tartan::plan {
namespace {

// Cycles of one core, as in cpu/compute_cost.cc; what was measured of the kernels rather than
// derived.
constexpr double kProductsPerCycle = 1.7;   // vectors multiplied and added
constexpr double kDirectPerCycle = 1.5;     // of the direct kernel
constexpr double kStreamBytesPerCycle = 5;  // weights from memory
constexpr double kCacheBytesPerCycle = 10;  // tiles, written by one kernel and read by the next
constexpr double kTransformPerElement = 4;  // vector operations, loads and stores of a transform
constexpr double kKernelCycles = 6000;      // to start one
// It must gain so much of the direct kernel's time, and so many cycles: its kernels take a second
// to compile.
constexpr double kLeastGain = 0.2;
constexpr double kLeastCycles = 1e6;

struct Sizes {
  double batch = 1;
  double channels = 0;
  double features = 0;
  double outputs = 1;  // positions of one image
  double vector = 8;
  bool weights_are_constant = false;
};

double DirectCycles(const Sizes& s) {
  constexpr double kTaps = poly::kWinogradWindow * poly::kWinogradWindow;
  const double arithmetic =
      s.batch * s.outputs * s.channels * s.features * kTaps / (s.vector * kDirectPerCycle);
  const double weights = 4 * s.channels * s.features * kTaps / kStreamBytesPerCycle;
  return std::max(arithmetic, weights);
}

double WinogradCycles(const Sizes& s, double tiles, double points) {
  const double elements = points * points;
  const double weights = 4 * s.channels * s.features * elements;
  const double arithmetic =
      s.batch * tiles * s.channels * s.features * elements / (s.vector * kProductsPerCycle);
  double cycles = std::max(arithmetic, weights / kStreamBytesPerCycle);
  const double transformed = s.batch * tiles * (s.channels + s.features) * elements;
  cycles += transformed * (kTransformPerElement / s.vector + 2 * 4 / kCacheBytesPerCycle);
  if (!s.weights_are_constant) {
    cycles += weights / 4 * (kTransformPerElement + 2 * 4 / kStreamBytesPerCycle);
  }
  return cycles + 4 * kKernelCycles;
}

}  // namespace

std::optional<WinogradTile> SelectWinogradTile(const poly::FlatContraction& flat,
                                               const HardwareSettings& settings,
                                               const std::vector<bool>& is_constant, Winograd use) {
  if (use == Winograd::kNever || settings.threads != 1 || flat.output_point_count() == 0)
    return std::nullopt;
  const auto correlation = poly::MatchCorrelation(flat, poly::kWinogradWindow);
  if (!correlation) return std::nullopt;
  Sizes sizes;
  for (int b : correlation->batch) sizes.batch *= static_cast<double>(flat.indices[b].range);
  sizes.channels = static_cast<double>(flat.indices[correlation->channel].range);
  sizes.features = static_cast<double>(flat.indices[correlation->feature].range);
  sizes.vector = static_cast<double>(std::max<int64_t>(settings.vector_width, 1));
  sizes.weights_are_constant = is_constant[flat.accesses[correlation->weights].tensor];
  for (const poly::Correlation::Direction& direction : correlation->directions) {
    sizes.outputs *= static_cast<double>(flat.indices[direction.position].range);
  }
  WinogradTile choice{*correlation, 0};
  double least = 0;
  for (int64_t tile : {2, 4}) {
    if (tile == 4 && use == Winograd::kSmallTiles) break;
    double tiles = 1;
    for (const poly::Correlation::Direction& direction : correlation->directions) {
      tiles *= static_cast<double>(poly::TileCount(flat, direction, tile));
    }
    const double cycles =
        WinogradCycles(sizes, tiles, static_cast<double>(tile + poly::kWinogradWindow - 1));
    if (choice.tile != 0 && cycles >= least) continue;
    choice.tile = tile;
    least = cycles;
  }
  const double gain = DirectCycles(sizes) - least;
  if (use == Winograd::kAlways ||
      (gain >= kLeastGain * DirectCycles(sizes) && gain >= kLeastCycles))
    return choice;
  return std::nullopt;
}

}  // namespace tartan::plan
