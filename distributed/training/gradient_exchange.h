// SPDX-License-Identifier: Apache-2.0
// Data-parallel training over a communicator.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "distributed/host_transport.h"
#include "frontend/train/ranks/gradient_exchange.h"

namespace tartan::distributed {

std::unique_ptr<train::GradientExchange> MakeGradientExchange(
    std::unique_ptr<HostTransport> transport, bool traces = false);

struct JoinOptions {
  double longest_wait_s = 1800;  // limit of one collective operation
  bool traces = false;           // records a time line
};

// Joins the processes that an MPI launcher started with this one; null if it started none. Errors
// as of JoinMpi.
absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinRanks(const JoinOptions& options);

}  // namespace tartan::distributed
