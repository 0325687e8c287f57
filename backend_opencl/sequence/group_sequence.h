// SPDX-License-Identifier: Apache-2.0
// Launches that a GPU runs as one. A driver takes microseconds to start each launch; here one
// kernel's work-groups, one for each compute unit, go from one launch to the next by themselves
// (group_sequence_source.h): the work-groups of a launch are divided among them, several at a time
// as teams of one. They wait for each other between launches, those that run: how many the device
// runs at once decides how long it takes, and never whether it ends.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_context.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Its runs wait for each other.
class GroupSequence {
 public:
  // Of kernels in_sequence of one program. `cases`: of each entry point its number among them;
  // `kept`: what its runs of launches keep (hal::KernelSource). The launches have been checked by
  // hal, and MayBeInGroupSequence. It is quickest with as many groups as the device has compute
  // units. `context` outlives it.
  static absl::StatusOr<std::unique_ptr<GroupSequence>> Create(
      const OpenClContext& context, cl_program program, absl::Span<const int> cases,
      absl::Span<const std::vector<int>> kept, absl::Span<const hal::Launch> launches,
      int64_t groups);

  int size() const { return size_; }
  // Puts the launches [begin, end) into a queue.
  cl_int Enqueue(cl_command_queue queue, int begin, int end, cl_event* event);

 private:
  KernelHandle kernel_;
  MemoryHandle table_, state_;
  size_t items_ = 0;  // of its launch
  int size_ = 0;
};

// It has few arguments, small groups, and not too many of them.
bool MayBeInGroupSequence(const hal::Launch& launch);

}  // namespace tartan::opencl
