// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/row_chunks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tile/graph/matmul/is_matmul.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

using graph::RowRegion;
using ir::ValueId;

// Shares of the region's time that all further chunks may cost.
constexpr double kCostShare = 0.03;
constexpr double kCostShareOfBudget = 0.3;
// A region takes much of a budget if its two largest values take more than this share.
constexpr double kBudgetShare = 0.1;
// Minimum share that chunks save of the first matmul's bytes.
constexpr double kMinSavedShare = 0.5;
// Minimum elements of a chunk for each compute unit, two tiles of 128 x 256; a quarter for cores.
constexpr int64_t kElementsPerUnit = 2 * 128 * 256;

// The work and memory of a region.
struct RegionCost {
  double multiply_adds = 0;
  double chunk_bytes = 0;  // moved once more by each further chunk
  double sum_bytes = 0;    // sums over rows, which live until the last chunk
  double launches = 0;
};

double MultiplyAdds(const ir::Program& program, const ir::Contraction& contraction) {
  std::vector<double> extents(contraction.index_names.size(), 1);
  for (const ir::Access& input : contraction.inputs) {
    const TensorShape& shape = program.values[input.tensor].shape;
    for (size_t d = 0; d < input.indices.size(); ++d) {
      const int variable = input.indices[d].single_variable();
      if (variable >= 0) extents[variable] = static_cast<double>(shape.dims[d]);
    }
  }
  double product = 1;
  for (const double extent : extents) product *= extent;
  return product;
}

RegionCost CostOf(const ir::Program& program, const RowRegion& region) {
  RegionCost cost;
  for (const auto& [v, member] : region.members) {
    const ir::Value& value = program.values[v];
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    if (contraction == nullptr || region.recomputed.count(v) > 0) continue;
    ++cost.launches;
    if (member.axis == RowRegion::kWhole) {
      cost.sum_bytes += static_cast<double>(value.shape.byte_size());
      cost.chunk_bytes += 2 * static_cast<double>(value.shape.byte_size());
    }
    if (!graph::IsMatmul(*contraction)) continue;
    cost.multiply_adds += MultiplyAdds(program, *contraction);
    for (size_t i = 0; i < contraction->inputs.size(); ++i) {
      if (region.AxisOf(program, v, i) != RowRegion::kWhole) continue;
      const TensorShape& weights = program.values[contraction->inputs[i].tensor].shape;
      cost.chunk_bytes += static_cast<double>(weights.byte_size());
    }
  }
  return cost;
}

// Multiply-adds per microsecond of a device.
double MultiplyAddRate(const plan::Machine& machine, const CompileOptions& options) {
  const HardwareSettings& settings = options.settings;
  const auto units = static_cast<double>(std::max<int64_t>(machine.units, 1));
  const std::optional<MatrixFormat> format = FormatOf(options.precision);
  const bool is_narrow = format.has_value() && *format != MatrixFormat::kTf32;
  if (machine.is_cpu) {
    const double rate = units * machine.cycles_per_us * machine.operations_per_cycle *
                        static_cast<double>(settings.vector_width);
    return is_narrow && settings.multiplies_bfloat16 ? 2 * rate : rate;
  }
  if (format.has_value() && settings.matrix_local_bytes > 0) {
    const double rate = units * machine.cycles_per_us * static_cast<double>(settings.matrix_rate);
    return is_narrow ? rate : rate / 2;
  }
  constexpr double kPerGigaflop = 1e3 / 2;
  constexpr double kUnknownRate = 5e6;  // a GPU that is not calibrated: 10 TFLOP/s
  return settings.gflops > 0 ? settings.gflops * kPerGigaflop : kUnknownRate;
}

}  // namespace

int64_t RowChunks(const ir::Program& program, const RowRegion& region,
                  const CompileOptions& options) {
  const plan::Machine machine(options.settings);
  const RegionCost cost = CostOf(program, region);
  const double bytes_per_us = machine.is_cpu
                                  ? plan::cpu::kMemoryBytesPerCycle * machine.cycles_per_us *
                                        static_cast<double>(std::max<int64_t>(machine.units, 1))
                                  : machine.memory_bytes_per_us;
  const double chunk_us = cost.chunk_bytes / bytes_per_us + cost.launches * machine.launch_us;
  const double all_us = cost.multiply_adds / MultiplyAddRate(machine, options);
  const TensorShape& scores = program.values[region.matmul].shape;
  const auto bytes = static_cast<double>(scores.byte_size());
  const bool is_tight = options.memory_budget > 0 &&
                        2 * bytes > kBudgetShare * static_cast<double>(options.memory_budget);
  const double limit_us = (is_tight ? kCostShareOfBudget : kCostShare) * all_us;
  const int64_t min_elements = std::max<int64_t>(machine.units, 1) *
                               (machine.is_cpu ? kElementsPerUnit / 4 : kElementsPerUnit);
  int64_t chunks = 1;
  for (int64_t n = 2; n <= region.extent; ++n) {
    if (scores.element_count() / n < min_elements) break;
    if (static_cast<double>(n - 1) * chunk_us > limit_us) break;
    const double saved_bytes = 2 * bytes * (1 - 1 / static_cast<double>(n)) - cost.sum_bytes;
    if (region.extent % n == 0 && saved_bytes >= kMinSavedShare * bytes) chunks = n;
  }
  return chunks;
}

}  // namespace tartan::compiler
