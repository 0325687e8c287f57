// SPDX-License-Identifier: Apache-2.0
// Collective operations of several ranks on ranges of device memory. Implementations: processes of
// one or several hosts through MPI (mpi/mpi_transport.h), and threads of one process, the oracle of
// the tests (in_process.h). tests/distributed/conformance.h is the suite for all of them.
//
// Every rank starts the same operations in the same order. An operation returns an event at once;
// operations of a rank execute one after another. `after` is an event on the device that the
// operation waits for; null: none. The ranges must not change until the event is reached. An error
// of an operation is returned by its event's Wait, and by all later operations.
//
// Errors: InvalidArgument for ranges out of bounds, of wrong sizes or of a type that cannot be
// added; Unavailable if another rank ended or does not answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/base/data_type.h"

namespace tartan::distributed {

// `size` bytes of a buffer.
struct Range {
  hal::BufferPtr buffer;
  int64_t offset = 0;
  int64_t size = 0;
};

// The place of this process among the ranks of a run.
struct Place {
  int64_t rank = 0;
  int64_t ranks = 1;
  int64_t local_rank = 0;   // among the ranks of this host
  int64_t local_ranks = 1;  // of this host
};

// Used by one thread at a time; its events by any.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const Place& place() const = 0;

  // Finds the fastest way between the memories of the ranks' devices. At most once, by all ranks.
  // Without it operations go through the host.
  virtual absl::Status Open(const hal::DevicePtr& /*device*/) { return absl::OkStatus(); }
  // Allocates memory that operations reach the fastest way. A range may be of any memory, but of
  // such memory on all ranks or on none.
  virtual absl::StatusOr<hal::BufferPtr> Allocate(const hal::DevicePtr& device, int64_t bytes) {
    return device->Allocate(bytes);
  }

  // Replaces the elements by their sums over all ranks: float32, float64, bfloat16, int32 or int64.
  // The sums are the same bits on all ranks.
  virtual absl::StatusOr<hal::EventPtr> AllReduce(const Range& range, DataType type,
                                                  hal::EventPtr after) = 0;
  // `to` receives the ranges `from` of all ranks in their order; it is `ranks` times as large.
  virtual absl::StatusOr<hal::EventPtr> AllGather(const Range& from, const Range& to,
                                                  hal::EventPtr after) = 0;
  // `to` receives this rank's part of the sums of `from`, which is `ranks` times as large.
  virtual absl::StatusOr<hal::EventPtr> ReduceScatter(const Range& from, const Range& to,
                                                      DataType type, hal::EventPtr after) = 0;
  // Replaces the bytes by the bytes of `root`.
  virtual absl::StatusOr<hal::EventPtr> Broadcast(const Range& range, int64_t root,
                                                  hal::EventPtr after) = 0;
  // The two ranks name each other, and ranges of one size.
  virtual absl::StatusOr<hal::EventPtr> Send(const Range& range, int64_t to,
                                             hal::EventPtr after) = 0;
  virtual absl::StatusOr<hal::EventPtr> Receive(const Range& range, int64_t from,
                                                hal::EventPtr after) = 0;
};

}  // namespace tartan::distributed
