// SPDX-License-Identifier: Apache-2.0
// Data-parallel training over a communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "distributed/host_communicator.h"
#include "distributed/host_transport.h"
#include "frontend/train/ranks/gradient_exchange.h"

namespace tartan::distributed {

// A way of gradients between devices.
enum class Way : uint8_t {
  kFastest,  // the first of the following that all ranks have
  kPeer,     // copies between the GPUs of one host; Unavailable without them
  kNccl,     // Unavailable without it
  kHost,
};
// The way named "auto", "peer", "nccl" or "host"; InvalidArgument for other names.
absl::StatusOr<Way> WayNamed(const std::string& name);

struct ExchangeOptions {
  bool traces = false;  // records a time line
  Way way = Way::kFastest;
  // Receives the way, and why it is not an earlier one; may be null.
  std::function<void(const std::string& line)> on_choice;
  // Joins the devices instead of `way`; null: none.
  JoinDevices join;
};

std::unique_ptr<train::GradientExchange> MakeGradientExchange(
    std::unique_ptr<HostTransport> transport, const ExchangeOptions& options = {});

struct JoinOptions {
  double longest_wait_s = 1800;  // limit of one collective operation
  ExchangeOptions exchange;
};

// Joins the processes that an MPI launcher started with this one; null if it started none. Errors
// as of JoinMpi.
absl::StatusOr<std::shared_ptr<train::GradientExchange>> JoinRanks(const JoinOptions& options);

// The exchange with the communicator that it uses, for programs that also exchange other values.
// Operations of both execute one after another.
struct JoinedRanks {
  std::shared_ptr<HostCommunicator> communicator;
  std::shared_ptr<train::GradientExchange> exchange;
};
// Joins ranks as JoinRanks does. Both pointers are null if a launcher started no other process.
absl::StatusOr<JoinedRanks> JoinRanksAndCommunicator(const JoinOptions& options);

}  // namespace tartan::distributed
