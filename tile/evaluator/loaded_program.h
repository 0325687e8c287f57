// SPDX-License-Identifier: Apache-2.0
// A compiled program with its constants on the device, or on the host that computes it, ready to
// run.
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
#include "tile/evaluator/resident_buffers.h"

namespace tartan::evaluator {

struct KernelTime {
  std::string kernel;
  std::string description;
  double ms = 0;
  double flops = 0;
  double bytes = 0;
};

// Thread-safe: each running call has a frame (memory, queue and recorded launches) of its own; free
// frames are kept for the next calls, as many as the last calls needed at once.
class LoadedProgram {
 public:
  // `constants` are the values of the program's constant inputs, in order. Uploads them and runs
  // the setup steps, as far as no program that was loaded with the same pool, which may be null,
  // has what they give.
  static absl::StatusOr<std::shared_ptr<LoadedProgram>> Load(
      std::shared_ptr<const CompiledProgram> program, absl::Span<const HostTensor> constants,
      ResidentPool* pool = nullptr);
  ~LoadedProgram();

  const CompiledProgram& program() const { return *program_; }

  // `inputs` are the values of the other inputs, in order; returns the outputs in order. With
  // `profile`, every kernel is timed. `meanwhile` is called while the device works, or before the
  // host does (CompiledProgram::OnHost).
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              std::vector<KernelTime>* profile = nullptr,
                                              const std::function<void()>& meanwhile = {});

  // Gives back the memory of frames that no call uses now; the next calls make new ones.
  void ReleaseFreeFrames();

 private:
  friend class BoundRun;
  friend class PreparedRun;
  friend class Repetition;
  explicit LoadedProgram(std::shared_ptr<const CompiledProgram> program);

  absl::StatusOr<std::vector<HostTensor>> RunOnHost(absl::Span<const HostTensor> inputs,
                                                    std::vector<KernelTime>* profile,
                                                    const std::function<void()>& meanwhile) const;
  // With memory for the states, in the order of the inputs; without a queue. `shared`: as
  // AllocateRegion says.
  absl::StatusOr<std::unique_ptr<Frame>> MakeFrame(absl::Span<const hal::BufferPtr> states,
                                                   std::vector<hal::BufferPtr>* shared) const;
  // With a queue; InvalidArgument for a program that has states.
  absl::StatusOr<std::unique_ptr<Frame>> MakeFrame(bool profiling) const;
  // To whose memory nothing that callers have belongs.
  absl::StatusOr<std::unique_ptr<Frame>> TakeFrame();
  std::unique_ptr<Frame> TakeFreeFrame();  // null where there is none
  void ReturnFrame(std::unique_ptr<Frame> frame);
  // The inputs must stay as they are until the queue is finished.
  absl::Status WriteInputs(const Frame& frame, hal::Queue& queue,
                           absl::Span<const HostTensor> inputs) const;
  // With `profile`, which needs a profiling queue, waits.
  absl::Status Execute(const Frame& frame, hal::Queue& queue,
                       std::vector<KernelTime>* profile) const;
  // What is read is there once the queue is finished.
  absl::StatusOr<HostTensor> ReadOutput(const Frame& frame, hal::Queue& queue, size_t output) const;

  const std::shared_ptr<const CompiledProgram> program_;
  ResidentBuffers resident_;
  HostProgram::Known known_;  // where the host computes it
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_frames_;  // guarded by mutex_; the last is taken first
  // Since the last look at them, guarded by mutex_: frames returned, and frames that were never
  // taken.
  int returned_ = 0;
  size_t idle_ = 0;
};

// A run whose inputs stay on the device, to be repeated: what benchmarks time. An input that is to
// be there for the second time must be an output of the program too, since its memory may serve for
// something else otherwise. Used by one thread at a time.
class PreparedRun {
 public:
  // `inputs` as those of LoadedProgram::Run.
  static absl::StatusOr<std::unique_ptr<PreparedRun>> Create(std::shared_ptr<LoadedProgram> program,
                                                             absl::Span<const HostTensor> inputs);
  ~PreparedRun();

  const CompiledProgram& program() const { return program_->program(); }

  // Puts one run into the queue; returns before it is done.
  absl::Status Enqueue();
  absl::Status Finish();
  // Of the last run; waits for it.
  absl::StatusOr<HostTensor> Output(size_t output);

 private:
  PreparedRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame);

  const std::shared_ptr<LoadedProgram> program_;
  const std::unique_ptr<Frame> frame_;
};

}  // namespace tartan::evaluator
