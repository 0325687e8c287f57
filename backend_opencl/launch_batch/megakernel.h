// SPDX-License-Identifier: Apache-2.0
// Executes a sequence of launches on a GPU as one persistent kernel (megakernel), because a driver
// takes microseconds to start each launch. The kernel has one work-group per compute unit, and a
// grid barrier separates dependent launches (megakernel_source.h). The work-groups of a launch
// are divided among the persistent work-groups, each of which runs several of them side by side as
// teams. Barriers count only work-groups that are running, so the kernel terminates no matter how
// many the device runs at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/opencl_context.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Executions must not overlap: they share state.
class Megakernel {
 public:
  // Creates a kernel for `launches`, which use batched kernels (KernelSource::in_sequence) of one
  // program. `cases[e]` is entry point e's number among the batched kernels, `kept[e]` its
  // weight-stationary arguments (hal::KernelSource::kept). Requires that hal and
  // CanBeInMegakernel have accepted each launch. `groups` is the number of persistent
  // work-groups; the fastest choice is one per compute unit. `context` must outlive the object.
  static absl::StatusOr<std::unique_ptr<Megakernel>> Create(const OpenClContext& context,
                                                            cl_program program,
                                                            absl::Span<const int> cases,
                                                            absl::Span<const std::vector<int>> kept,
                                                            absl::Span<const hal::Launch> launches,
                                                            int64_t groups);

  int size() const { return size_; }
  // Enqueues the launches [begin, end).
  cl_int Enqueue(cl_command_queue queue, int begin, int end, cl_event* event);

 private:
  KernelHandle kernel_;
  MemoryHandle table_, state_;
  size_t items_ = 0;  // work-items of the persistent kernel
  int size_ = 0;
};

// True if the launch has few enough arguments, small work-groups and a small enough grid.
bool CanBeInMegakernel(const hal::Launch& launch);

}  // namespace tartan::opencl
