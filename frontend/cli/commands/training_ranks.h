// SPDX-License-Identifier: Apache-2.0
// The ranks (processes) of a data-parallel `tartan train`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/cli/context.h"
#include "frontend/train/ranks/gradient_exchange.h"

namespace tartan::cli {

struct RankFlags {
  double collective_timeout_s = 1800;
  std::string trace;  // file; empty: none
  std::string transport = "auto";
  std::string gradient_type = "float32";
  int64_t bucket_bytes = 0;  // as of TrainerOptions
  // Receives a line about how gradients move; may be null.
  std::function<void(const std::string& line)> on_transport;
};

// Joins the processes that an MPI launcher started with this one; null if there are none.
absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinTraining(const RankFlags& flags);

// Options for this rank: ranks after the first print no notes. A rank takes the GPU of its number
// among the equal ones of its host, unless --device names one by its index. CPUs are shared.
absl::StatusOr<GlobalOptions> OptionsOfRank(const Context& context,
                                            const train::GradientExchange& ranks);

}  // namespace tartan::cli
