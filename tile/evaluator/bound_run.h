// SPDX-License-Identifier: Apache-2.0
// A program with in-place states (compiler/update_in_place.h), bound to the buffers of these
// states.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {

// Used by one thread at a time. Enqueues executions into the caller's queue, which orders the
// updates of the states. Other memory of an execution belongs to this object. If the host computes
// the program (CompiledProgram::OnHost), an execution waits for the queue, and is then complete.
class BoundRun {
 public:
  // `states`: one buffer per state of the program, in the order of its inputs, no smaller than the
  // state; otherwise InvalidArgument. `shared`: arenas that executions in the same queue share;
  // missing ones are added. Null: the object has its own memory. Outputs are valid until the next
  // execution.
  static absl::StatusOr<std::unique_ptr<BoundRun>> Create(
      std::shared_ptr<LoadedProgram> program, absl::Span<const hal::BufferPtr> states,
      std::vector<hal::BufferPtr>* shared = nullptr);
  ~BoundRun();

  const CompiledProgram& program() const { return program_->program(); }

  // Divides executions where groups of states have their next values: StateEvents of an execution
  // has an event for each group, after its last use of these states (indices). InvalidArgument for
  // a state that does not exist.
  absl::Status WatchStates(absl::Span<const std::vector<size_t>> groups);
  // The events of the last enqueued execution, by group.
  const std::vector<hal::EventPtr>& StateEvents() const { return events_; }

  // Enqueues one execution. `inputs`: the values of inputs that are neither states nor constants,
  // in order; they must stay unchanged until the queue is finished.
  absl::Status Enqueue(hal::Queue& queue, absl::Span<const HostTensor> inputs);
  // Executes in a separate queue, kernel by kernel, and waits. No other execution may be in flight.
  absl::StatusOr<std::vector<KernelTime>> Profile(absl::Span<const HostTensor> inputs);
  // The output of the last enqueued execution; its data is valid once the queue is finished.
  absl::StatusOr<HostTensor> ReadAsync(hal::Queue& queue, size_t output);

 private:
  BoundRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame,
           std::vector<hal::BufferPtr> states);
  absl::Status RunOnHost(hal::Queue& queue, absl::Span<const HostTensor> inputs);

  const std::shared_ptr<LoadedProgram> program_;
  const std::unique_ptr<Frame> frame_;  // null if the host computes the program
  const std::vector<hal::BufferPtr> states_;
  std::vector<HostTensor> host_outputs_;  // of the last execution by the host

  // The commands between two events, and the groups that the second event is for.
  struct Part {
    std::vector<Command> commands;
    std::vector<size_t> groups;
  };
  std::vector<Part> parts_;  // empty: no state is watched
  std::vector<hal::EventPtr> events_;
};

}  // namespace tartan::evaluator
