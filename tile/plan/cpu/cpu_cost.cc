// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cpu_cost.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace tartan::plan {

void CpuCost::AddStreams(double bytes, double bytes_per_cycle) {
  memory[2] += bytes / bytes_per_cycle / (1 + exposed_beyond_l1);
}

void CpuCost::DivideAmong(int64_t cores, int64_t items) {
  const auto each = static_cast<double>(std::max<int64_t>(cores, 1));
  const auto all = static_cast<double>(items);
  imbalance = std::ceil(all / each) * each / std::max(all, 1.0);
}

double CpuCost::total() const {
  const double slowest = std::max({compute + epilogue, memory[0], memory[1], memory[2]});
  return (slowest + exposed_l1 * memory[0] + exposed_beyond_l1 * (memory[1] + memory[2])) *
         imbalance;
}

std::string CpuCost::ToString() const {
  return absl::StrFormat(
      "cycles %.3g: compute %.3g, epilogue %.3g, into L1 %.3g, into L2 %.3g, from memory %.3g, "
      "imbalance %.2f",
      total(), compute, epilogue, memory[0], memory[1], memory[2], imbalance);
}

}  // namespace tartan::plan
