// SPDX-License-Identifier: Apache-2.0
// Launches that a CPU runs as one. A driver takes microseconds to start each launch, and its
// threads as long to wake up; here the threads go from one launch to the next by themselves.
//
// One kernel (SequenceSource) goes through a table of launches. Its work-groups, one for each
// thread, take pieces of a launch until there are none, and wait for the pieces that others have
// taken before they go on. Whoever waits thus waits for work that a thread is doing: nothing
// depends on how many of the groups the driver runs at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_context.h"
#include "hal/hal.h"

namespace tartan::opencl {

// The text of that kernel, for those of `kernels` that are run in sequences; "" where none is.
std::string SequenceSource(absl::Span<const hal::KernelSource> kernels);

// How many of the kernels of a source are launched by themselves.
int EntryPointCount(absl::Span<const hal::KernelSource> kernels);

class LaunchSequence {
 public:
  // Of kernels in_sequence of one program, on a CPU. `cases`: of each entry point its number among
  // them. The launches have been checked by hal, and MayBeInSequence.
  static absl::StatusOr<std::unique_ptr<LaunchSequence>> Create(
      const OpenClContext& context, cl_program program, absl::Span<const int> cases,
      absl::Span<const hal::Launch> launches);

  int size() const { return size_; }
  // Puts the launches [begin, end) into a queue. Replays wait for each other.
  cl_int Enqueue(cl_command_queue queue, int begin, int end, cl_event* event) const;

 private:
  LaunchSequence() = default;

  KernelHandle kernel_;
  MemoryHandle steps_, arguments_, counters_;
  size_t workers_ = 1;
  int size_ = 0;
};

// Its pieces are counted in 32 bits.
bool MayBeInSequence(const hal::Launch& launch);

}  // namespace tartan::opencl
