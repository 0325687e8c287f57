// SPDX-License-Identifier: Apache-2.0
// The collective operations on host memory that a transport provides. HostCommunicator makes
// operations on device memory of them.
//
// Calls block. Every rank makes the same calls in the same order, from one thread at a time.
// Returns Unavailable if another rank ended or does not answer; later calls then fail, too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "distributed/communicator.h"
#include "tile/base/data_type.h"

namespace tartan::distributed {

class HostTransport {
 public:
  virtual ~HostTransport() = default;
  virtual const Place& place() const = 0;
  virtual absl::Status AllReduce(absl::Span<uint8_t> bytes, DataType type) = 0;
  virtual absl::Status AllGather(absl::Span<const uint8_t> from, absl::Span<uint8_t> to) = 0;
  virtual absl::Status ReduceScatter(absl::Span<const uint8_t> from, absl::Span<uint8_t> to,
                                     DataType type) = 0;
  virtual absl::Status Broadcast(absl::Span<uint8_t> bytes, int64_t root) = 0;
  virtual absl::Status Send(absl::Span<const uint8_t> bytes, int64_t to) = 0;
  virtual absl::Status Receive(absl::Span<uint8_t> bytes, int64_t from) = 0;

  // Calls `work`, in which ranks wait for each other by other means than this transport.
  virtual absl::Status Watch(const char* what, const std::function<absl::Status()>& work) {
    static_cast<void>(what);
    return work();
  }

  // Ends the run on all ranks, which report `why`. From any thread.
  virtual void Fail(const std::string& why) = 0;
  // Waits for all ranks; the last call.
  virtual absl::Status Finish() = 0;
};

// Adds `from` to `to`, element by element; both have one size. Requires a type that IsSummable.
void AddElements(DataType type, const uint8_t* from, int64_t bytes, uint8_t* to);
bool IsSummable(DataType type);

}  // namespace tartan::distributed
