// SPDX-License-Identifier: Apache-2.0
// Where the time of a run goes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/cli/commands/model_session.h"
#include "frontend/cli/commands/operator_sums.h"
#include "proto/report.pb.h"

namespace tartan::cli {

// Adds kernels of a run, beside what the device is able to.
absl::Status AddKernels(const api::Device& device, const std::vector<api::KernelProfile>& kernels,
                        KernelRows* rows);

// Fills report->profile() with the kernels of runs on `inputs`.
absl::Status Profile(ModelSession& session, const std::map<std::string, api::HostValue>& inputs,
                     proto::BenchReport* report);

// The kernels that take longest, longest first; the rest as one line.
std::string ProfileText(const KernelRows& rows);

}  // namespace tartan::cli
