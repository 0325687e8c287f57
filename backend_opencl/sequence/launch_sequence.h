// SPDX-License-Identifier: Apache-2.0
// Launches that a CPU runs as one. A driver takes microseconds to start each launch, and its
// threads as long to wake up; here the threads go from one launch to the next by themselves.
//
// One kernel (sequence_source.h) goes through a table of launches. Its work-groups, one for each
// thread, take pieces of a launch until there are none, and wait for the pieces that others have
// taken before they go on. Whoever waits thus waits for work that a thread is doing: nothing
// depends on how many of the groups the driver runs at once.
//
// A host that waits for the result anyhow is one of those threads: it calls the compiled function,
// and the driver's threads help as soon as they are awake.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_context.h"
#include "backend_opencl/sequence/help_choice.h"
#include "backend_opencl/sequence/sequence_code.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Its runs wait for each other.
class LaunchSequence {
 public:
  // Of kernels in_sequence of one program, on a CPU. `cases`: of each entry point its number among
  // them. The launches have been checked by hal, and MayBeInSequence. `context` outlives it.
  static absl::StatusOr<std::unique_ptr<LaunchSequence>> Create(
      const OpenClContext& context, cl_program program, absl::Span<const int> cases,
      absl::Span<const hal::Launch> launches);

  int size() const { return size_; }
  // To be called before a run, with the queue of those before: after one of which a part failed to
  // be enqueued, the next one counts from the beginning.
  absl::Status Mend(cl_command_queue queue);
  // Puts the launches [begin, end) into a queue. A run puts each of them there once, in order.
  cl_int Enqueue(cl_command_queue queue, int begin, int end, cl_event* event);

  bool may_run_on_host() const { return code_ != nullptr; }
  // Runs all of them in the calling thread, with the device's threads where that is quicker. True:
  // these were asked by way of the queue, and may still look for what is left to do.
  bool RunOnHost(cl_command_queue queue);

 private:
  explicit LaunchSequence(const OpenClContext& context) : context_(context) {}

  absl::Status MakeCounters();
  cl_int Launch(cl_command_queue queue, int begin, int end, size_t workers, bool alone,
                cl_event* event);

  const OpenClContext& context_;
  KernelHandle kernel_;
  MemoryHandle steps_, arguments_, counters_;
  SequencePlaces places_ = {};          // of these, and of the function
  std::unique_ptr<SequenceCode> code_;  // null where the host cannot call it
  size_t workers_ = 1;
  int size_ = 0;
  uint32_t run_ = 0;        // how many runs have been counted
  bool is_broken_ = false;  // the last one was not, or only in part
  HelpChoice help_;
};

// Its pieces are counted in 32 bits.
bool MayBeInSequence(const hal::Launch& launch);

}  // namespace tartan::opencl
