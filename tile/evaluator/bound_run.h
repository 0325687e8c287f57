// SPDX-License-Identifier: Apache-2.0
// A program with states (compiler/update_in_place.h), bound to the memory that holds them.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {

// Used by one thread at a time. Runs are put into a queue that the caller has, in whose order the
// states change; what else a run needs in memory is its own.
class BoundRun {
 public:
  // `states`: one buffer for each state of the program, in the order of its inputs, at least as
  // large as the state. InvalidArgument for fewer or more, or smaller ones.
  // `shared`: memory of other runs in the same queue that serves for this one, too; what it lacks
  // is added. Null: the run has memory of its own. Outputs are there until another run begins.
  static absl::StatusOr<std::unique_ptr<BoundRun>> Create(
      std::shared_ptr<LoadedProgram> program, absl::Span<const hal::BufferPtr> states,
      std::vector<hal::BufferPtr>* shared = nullptr);
  ~BoundRun();

  const CompiledProgram& program() const { return program_->program(); }

  // Puts one run into the queue. `inputs`: the values of those that are neither states nor
  // constants, in order; they stay as they are until the queue is finished.
  absl::Status Enqueue(hal::Queue& queue, absl::Span<const HostTensor> inputs);
  // The same in a queue of its own, kernel by kernel; waits. Nothing else may be under way.
  absl::StatusOr<std::vector<KernelTime>> Profile(absl::Span<const HostTensor> inputs);
  // The output of the last run in the queue; there once the queue is finished.
  absl::StatusOr<HostTensor> ReadLater(hal::Queue& queue, size_t output);

 private:
  BoundRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame);

  const std::shared_ptr<LoadedProgram> program_;
  const std::unique_ptr<Frame> frame_;
};

}  // namespace tartan::evaluator
