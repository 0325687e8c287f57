// SPDX-License-Identifier: Apache-2.0
// The operations that join the ranks (processes) of a data-parallel run. Training implements
// no transport: distributed/training/gradient_exchange.h does.
//
// Every rank calls the same functions in the same order. A call blocks until all ranks have made
// it. A failure is permanent: the ranks then end together (Fail).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/resident/device_tensor.h"

namespace tartan::train {

struct ExchangeTimes {
  // Seconds in which all gradients were computed but not all added: the device waits for other
  // ranks and for the reduction.
  double lost_s = 0;
  int64_t sums = 0;   // number of calls of Sum
  int64_t bytes = 0;  // added by them
};

// Bytes of a buffer that is no sub-buffer.
struct MemoryRange {
  hal::BufferPtr buffer;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// Tensors that are added together, as soon as `computed` is reached; null: after all work that the
// device has started.
struct GradientBucket {
  std::vector<api::DeviceTensor> tensors;
  hal::EventPtr computed;
  // Instead of tensors: float32 elements in as many equal parts as there are ranks, and the part of
  // this rank. It may be within the whole, at its place.
  MemoryRange whole;
  MemoryRange part;

  bool HasPart() const { return part.buffer != nullptr; }
};

// Used by one thread at a time.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;

  virtual int64_t rank() const = 0;        // from 0
  virtual int64_t ranks() const = 0;       // number of ranks
  virtual int64_t local_rank() const = 0;  // from 0, among the ranks of this host

  // InvalidArgument on every rank, with the fact, a rank and both values, if a fact of a rank
  // differs from rank 0's.
  virtual absl::Status Agree(const std::map<std::string, std::string>& facts) = 0;

  // Finds the fastest way between the devices of all ranks, each of which names its own. Once,
  // before Allocate.
  virtual absl::Status Open(const api::Device& device) = 0;
  // Allocates memory for tensors that Sum adds the fastest way. Does not wait for other ranks.
  virtual absl::StatusOr<hal::BufferPtr> Allocate(const api::Device& device, int64_t bytes) = 0;
  // Bytes of a bucket that suit the way, after Open: few if reductions overlap the backward pass.
  virtual int64_t bucket_bytes() const = 0;
  // Replaces each tensor by its sum over all ranks, bucket after bucket. All ranks get the same
  // bits. Of a bucket with a part, only the part receives its sums. Waits for the sums.
  absl::Status Sum(const api::Device& device, absl::Span<const GradientBucket> buckets) {
    const absl::Status started = StartSums(device, buckets);
    return started.ok() ? FinishSums() : started;
  }
  // Sum in parts: starts to add the buckets; waits for one of them, by its index; waits for all.
  virtual absl::Status StartSums(const api::Device& device,
                                 absl::Span<const GradientBucket> buckets) = 0;
  virtual absl::Status WaitForSum(size_t bucket) = 0;
  virtual absl::Status FinishSums() = 0;
  // If a time line is recorded: waits for the end of an update that began after the last
  // WaitForSum, and records it.
  virtual absl::Status TraceUpdate(const hal::EventPtr& done) = 0;
  // Starts to add a bucket whose `computed` is defined. Returns the event of its sums. Sum waits
  // for it, too.
  virtual absl::StatusOr<hal::EventPtr> StartSum(const GradientBucket& bucket) = 0;
  // Starts to fill the whole of a bucket with the parts of all ranks, once `computed` is reached.
  // Returns its event.
  virtual absl::StatusOr<hal::EventPtr> StartGather(const GradientBucket& bucket) = 0;
  // Fills the whole of each bucket with the parts of all ranks. Waits for them.
  virtual absl::Status Gather(const api::Device& device,
                              absl::Span<const GradientBucket> buckets) = 0;
  // `all` receives the bytes of all ranks in their order; each has as many as `own`.
  virtual absl::Status GatherBytes(absl::Span<const uint8_t> own, absl::Span<uint8_t> all) = 0;
  // Replaces each number by its sum over all ranks.
  virtual absl::Status SumNumbers(absl::Span<double> numbers) = 0;
  // Replaces the bytes by the bytes of rank 0.
  virtual absl::Status Broadcast(std::string* bytes) = 0;

  virtual ExchangeTimes times() const = 0;
  // The time line of all ranks as a JSON document of trace events, on the first rank; empty on
  // others, and if none is recorded.
  virtual absl::StatusOr<std::string> CollectTrace() = 0;

  // Ends the run of all ranks. The other ranks report `why` and this rank. Does nothing after
  // Finish.
  virtual void Fail(const absl::Status& why) = 0;
  // Waits until all ranks have called it; the last call.
  virtual absl::Status Finish() = 0;
};

}  // namespace tartan::train
