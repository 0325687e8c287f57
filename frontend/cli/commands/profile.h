// SPDX-License-Identifier: Apache-2.0
// Profiles a run by kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/cli/commands/model_session.h"
#include "frontend/cli/commands/operator_sums.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// Adds the kernels of a run, with the share of the device's peak that each reaches.
absl::Status AddKernels(const api::Device& device, const std::vector<api::KernelProfile>& kernels,
                        KernelRows* rows);

// Fills report->profile() with the kernels of runs on `inputs`.
absl::Status Profile(ModelSession& session, const std::map<std::string, api::HostValue>& inputs,
                     proto::BenchReport* report);

// A table of the slowest kernels, slowest first; the rest is one line.
std::string ProfileText(const KernelRows& rows);

}  // namespace tartan::cli
