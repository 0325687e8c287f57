// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/tiers_report.h"

namespace tartan::cli {

std::string TierOf(const api::RunStatistics& statistics) {
  const bool has_others = statistics.ready_programs + statistics.host_programs > 0;
  if (statistics.exact_programs > 0) return has_others ? "mixed" : "exact";
  return statistics.ready_programs > 0 ? "ready" : "host";
}

void AddTiers(const api::RunStatistics& statistics, proto::Tiers* tiers) {
  tiers->set_exact(tiers->exact() + static_cast<int>(statistics.exact_programs));
  tiers->set_ready(tiers->ready() + static_cast<int>(statistics.ready_programs));
  tiers->set_host(tiers->host() + static_cast<int>(statistics.host_programs));
}

}  // namespace tartan::cli
