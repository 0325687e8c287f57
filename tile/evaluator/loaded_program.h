// SPDX-License-Identifier: Apache-2.0
// A compiled program with its constants on the device (or on the host, if the host computes it),
// ready to execute.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/frame.h"
#include "tile/evaluator/kernel_time.h"
#include "tile/evaluator/resident_buffers.h"

namespace tartan::evaluator {

// Thread-safe: each concurrent call has its own frame (memory, queue and recorded launches). Free
// frames are kept, as many as recent calls needed at once.
class LoadedProgram {
 public:
  // `constants` are the values of the program's constant inputs, in order. Uploads them and
  // executes the setup steps. `pool`, which may be null, shares results with other programs.
  static absl::StatusOr<std::shared_ptr<LoadedProgram>> Load(
      std::shared_ptr<const CompiledProgram> program, absl::Span<const HostTensor> constants,
      ResidentPool* pool = nullptr);
  ~LoadedProgram();

  const CompiledProgram& program() const { return *program_; }

  // `inputs` are the values of the other inputs, in order; returns the outputs in order. `profile`,
  // if not null, receives the time of every kernel. `meanwhile` is called while the device works,
  // or before the host computes (CompiledProgram::OnHost).
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<KernelTime>* profile = nullptr,
                                              const std::function<void()>& meanwhile = {});

  // Releases the frames that no call uses; later calls create new ones.
  void ReleaseFreeFrames();

 private:
  friend class BoundRun;
  friend class PreparedRun;
  friend class Repetition;
  explicit LoadedProgram(std::shared_ptr<const CompiledProgram> program);

  absl::StatusOr<std::vector<HostTensor>> RunOnHost(absl::Span<const HostTensor> inputs,
                                                    std::vector<KernelTime>* profile,
                                                    const std::function<void()>& meanwhile) const;
  // A frame with the given state buffers, in the order of the inputs, and without a queue.
  // `shared`: as in AllocateRegion.
  absl::StatusOr<std::unique_ptr<Frame>> MakeFrame(absl::Span<const hal::BufferPtr> states,
                                                   std::vector<hal::BufferPtr>* shared) const;
  // A frame with a queue; InvalidArgument if the program has states.
  absl::StatusOr<std::unique_ptr<Frame>> MakeFrame(bool profiling) const;
  // A free or new frame whose output memory no caller holds.
  absl::StatusOr<std::unique_ptr<Frame>> TakeFrame();
  std::unique_ptr<Frame> TakeFreeFrame();  // null if there is none
  void ReturnFrame(std::unique_ptr<Frame> frame);
  // The inputs must stay unchanged until the queue is finished.
  absl::Status WriteInputs(const Frame& frame, hal::Queue& queue,
                           absl::Span<const HostTensor> inputs) const;
  // Waits if `profile` is not null, which requires a profiling queue.
  absl::Status Execute(const Frame& frame, hal::Queue& queue,
                       std::vector<KernelTime>* profile) const;
  // The data is valid once the queue is finished.
  // `memory` has the bytes of the output; without an owner the function allocates memory.
  absl::StatusOr<HostTensor> ReadOutput(const Frame& frame, hal::Queue& queue, size_t output,
                                        hal::HostMemory memory = {}) const;

  const std::shared_ptr<const CompiledProgram> program_;
  ResidentBuffers resident_;
  HostProgram::Known known_;  // if the host computes the program
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_frames_;  // guarded by mutex_; the last is taken first
  // Since the last release of idle frames, guarded by mutex_: the number of frames returned, and of
  // frames that were never taken.
  int returned_ = 0;
  size_t idle_ = 0;
};

// Repeated execution with inputs that stay on the device, for benchmarks. Inputs that must survive
// an execution must also be outputs of the program, because their memory may be reused otherwise.
// Used by one thread at a time.
class PreparedRun {
 public:
  // `inputs` as in LoadedProgram::Run.
  static absl::StatusOr<std::unique_ptr<PreparedRun>> Create(std::shared_ptr<LoadedProgram> program,
                                                             absl::Span<const HostTensor> inputs);
  ~PreparedRun();

  const CompiledProgram& program() const { return program_->program(); }

  // Enqueues one execution and returns before it is complete.
  absl::Status Enqueue();
  absl::Status Finish();
  // An output of the last execution; waits for it.
  absl::StatusOr<HostTensor> Output(size_t output);

 private:
  PreparedRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame);

  const std::shared_ptr<LoadedProgram> program_;
  const std::unique_ptr<Frame> frame_;
};

}  // namespace tartan::evaluator
