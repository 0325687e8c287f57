// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "frontend/api/session.h"

namespace tartan::proto {
class BenchReport;
}

namespace tartan::cli {

// Fills report->profile() with the kernels of runs on `inputs`.
absl::Status Profile(api::Session& session, const std::map<std::string, api::HostValue>& inputs,
                     proto::BenchReport* report);

// The kernels that take longest, longest first; the rest as one line.
std::string ProfileText(const proto::BenchReport& report);

}  // namespace tartan::cli
