// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select/select_winograd.h"

#include <algorithm>

#include "tile/plan/machine.h"
#include "tile/poly/correlation.h"
#include "tile/poly/winograd.h"

namespace tartan::plan {
namespace {

// Share of peak multiply-adds that the batched matmul reaches; measured.
constexpr double kMatmulShare = 0.85;
// Share of peak multiply-adds that the direct kernel reaches; measured.
constexpr double kDirectShare = 0.75;
constexpr double kTransformPerElement = 4;  // vector instructions per element of a transform
constexpr double kKernels = 4;              // kernels instead of one; the weight transform is extra
constexpr double kLongKernels = 12;  // minimum gain in units of a kernel's compile time per run
// Minimum gain as a share of the direct kernel's time; smaller gains are within the model's error.
constexpr double kMinGain = 0.2;

struct Problem {
  explicit Problem(const HardwareSettings& settings) : machine(settings) {}

  const Machine machine;
  double batch = 1;
  double channels = 0;
  double features = 0;
  double outputs = 1;  // positions of one image
  double vector = 8;
  bool weights_are_constant = false;
  double products = 1;  // multiply-adds per lane and instruction of the direct kernel
};

double DirectCycles(const Problem& problem) {
  // Multiply-adds per output and channel.
  constexpr double kTaps = poly::kWinogradWindow * poly::kWinogradWindow;
  const double arithmetic =
      problem.batch * problem.outputs * problem.channels * problem.features * kTaps /
      (problem.vector * problem.products * kDirectShare * problem.machine.operations_per_cycle);
  const double weights =
      4 * problem.channels * problem.features * kTaps / cpu::kMemoryBytesPerCycle;
  return std::max(arithmetic, weights);
}

double WinogradCycles(const Problem& problem, double tiles, double points) {
  const double elements = points * points;
  const double weights = 4 * problem.channels * problem.features * elements;
  const double arithmetic = problem.batch * tiles * problem.channels * problem.features * elements /
                            (problem.vector * kMatmulShare * problem.machine.operations_per_cycle);
  double cycles = std::max(arithmetic, weights / cpu::kMemoryBytesPerCycle);
  const double transformed =
      problem.batch * tiles * (problem.channels + problem.features) * elements;
  cycles += transformed *
            (kTransformPerElement / problem.vector + 2 * 4 / cpu::kProducerConsumerBytesPerCycle);
  if (!problem.weights_are_constant) {
    cycles += weights / 4 * (kTransformPerElement + 2 * 4 / cpu::kMemoryBytesPerCycle);
  }
  return cycles + (kKernels - 1) * problem.machine.LaunchCycles();
}

}  // namespace

std::optional<int64_t> SelectWinogradTile(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, Winograd use,
                                          Precision precision) {
  if (use == Winograd::kNever || settings.threads != 1 || flat.output_point_count() == 0)
    return std::nullopt;
  const auto correlation = poly::MatchCorrelation(flat, poly::kWinogradWindow);
  if (!correlation) return std::nullopt;
  Problem problem(settings);
  for (int b : correlation->batch) problem.batch *= static_cast<double>(flat.indices[b].range);
  problem.channels = static_cast<double>(flat.indices[correlation->channel].range);
  problem.features = static_cast<double>(flat.indices[correlation->feature].range);
  problem.vector = static_cast<double>(std::max<int64_t>(settings.vector_width, 1));
  if (precision == Precision::kBFloat16 && settings.multiplies_bfloat16) problem.products = 2;
  problem.weights_are_constant = is_constant[flat.accesses[correlation->weights].tensor];
  for (const poly::Correlation::Direction& direction : correlation->directions) {
    problem.outputs *= static_cast<double>(flat.indices[direction.position].range);
  }
  int64_t best = 0;
  double least = 0;
  for (int64_t tile : {2, 4}) {
    if (tile == 4 && use == Winograd::kSmallTiles) break;
    double tiles = 1;
    for (const poly::Correlation::Direction& direction : correlation->directions) {
      tiles *= static_cast<double>(poly::TileCount(flat, direction, tile));
    }
    const double cycles =
        WinogradCycles(problem, tiles, static_cast<double>(tile + poly::kWinogradWindow - 1));
    if (best != 0 && cycles >= least) continue;
    best = tile;
    least = cycles;
  }
  const double gain = DirectCycles(problem) - least;
  if (use == Winograd::kAlways ||
      (gain >= kMinGain * DirectCycles(problem) &&
       gain >= kLongKernels * problem.machine.CompileCycles(/*is_short=*/false)))
    return best;
  return std::nullopt;
}

}  // namespace tartan::plan
