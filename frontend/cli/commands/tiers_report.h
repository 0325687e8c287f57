// SPDX-License-Identifier: Apache-2.0
// Reports which kind of kernels runs used.
#pragma once

#include <string>

#include "frontend/api/run_statistics.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// "exact", "ready", "mixed", or "host" if no program ran on the device.
std::string TierOf(const api::RunStatistics& statistics);
void AddTiers(const api::RunStatistics& statistics, proto::Tiers* tiers);

}  // namespace tartan::cli
