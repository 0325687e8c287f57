// SPDX-License-Identifier: Apache-2.0
// Executes a sequence of launches on a CPU as one launch batch. A driver takes microseconds to
// start each launch and to wake its threads; in a batch, the threads go directly from launch to
// launch.
//
// One kernel (launch_batch_source.h) processes a table of launches. It has one work-group per
// thread. The work-groups take pieces of a launch from a shared counter, then wait for the pieces
// that others have taken. A thread waits only for pieces that a running thread has taken. The batch
// thus terminates no matter how many work-groups the driver runs at once.
//
// A host thread that waits for the result takes part: it calls the compiled function directly, and
// the driver's threads join as soon as they are awake.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/launch_batch/help_choice.h"
#include "backend_opencl/launch_batch/launch_batch_code.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Executions must not overlap: they share counters.
class LaunchBatch {
 public:
  // Creates a batch of `launches`, which use batched kernels (KernelSource::in_sequence) of one
  // program on a CPU. `cases[e]` is entry point e's number among the batched kernels. Requires that
  // hal and MayBeInSequence have accepted each launch. `context` must outlive the object.
  static absl::StatusOr<std::unique_ptr<LaunchBatch>> Create(
      const OpenClContext& context, cl_program program, absl::Span<const int> cases,
      absl::Span<const hal::Launch> launches);

  int size() const { return size_; }
  // Must be called before each execution, with the queue of the previous ones. If part of the
  // previous execution could not be enqueued, waits for the queue and resets the counters.
  absl::Status ResetAfterFailure(cl_command_queue queue);
  // Enqueues the launches [begin, end). An execution enqueues each launch once, in order.
  cl_int Enqueue(cl_command_queue queue, int begin, int end, cl_event* event);

  bool may_run_on_host() const { return code_ != nullptr; }
  // Executes the whole batch in the calling thread, with help from the device's threads if that is
  // faster. Returns true if help was requested through the queue; those threads may still look for
  // work after the return.
  bool RunOnHost(cl_command_queue queue);

 private:
  explicit LaunchBatch(const OpenClContext& context) : context_(context) {}

  absl::Status MakeCounters();
  cl_int Launch(cl_command_queue queue, int begin, int end, size_t workers, bool alone,
                cl_event* event);

  const OpenClContext& context_;
  KernelHandle kernel_;
  MemoryHandle steps_, arguments_, counters_;
  LaunchBatchAddresses places_ = {};       // addresses of the buffers and of the compiled function
  std::unique_ptr<LaunchBatchCode> code_;  // null if the host cannot call the function
  size_t workers_ = 1;
  int size_ = 0;
  uint32_t run_ = 0;        // number of executions counted so far
  bool is_broken_ = false;  // the last execution was not enqueued, or only in part
  HelpChoice help_;
};

// True if the launch is small enough for 32-bit piece counters.
bool MayBeInSequence(const hal::Launch& launch);

}  // namespace tartan::opencl
