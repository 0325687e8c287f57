// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/tiers_report.h"

namespace tartan::cli {

std::string TierOf(const api::RunStatistics& statistics) {
  if (statistics.exact_programs > 0) return statistics.ready_programs > 0 ? "mixed" : "exact";
  return statistics.ready_programs > 0 ? "ready" : "host";
}

void AddTiers(const api::RunStatistics& statistics, proto::Tiers* tiers) {
  tiers->set_exact(tiers->exact() + static_cast<int>(statistics.exact_programs));
  tiers->set_ready(tiers->ready() + static_cast<int>(statistics.ready_programs));
}

}  // namespace tartan::cli
