// SPDX-License-Identifier: Apache-2.0
// A program with in-place states (compiler/update_in_place.h), bound to the buffers of these
// states.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {

// The steps of an execution that use a state.
struct StateUse {
  int64_t first = 0;
  int64_t last = 0;            // exclusive; equal to `first` for a state that is not used
  std::vector<int64_t> steps;  // all of them, ascending
};
// The uses of each state of the program, in the order of its inputs. One for all steps if the host
// computes the program.
std::vector<StateUse> UsesOfStates(const CompiledProgram& program);

// Uses of states that are watched together: those in the steps [first, last).
struct StateGroup {
  std::vector<size_t> states;  // indices
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
};

// Calls during Enqueue, in the order of the steps. Not called by Profile.
struct StateHooks {
  // Before the first step that uses a state of the group is enqueued. May enqueue work.
  std::function<absl::Status(size_t group, hal::Queue& queue)> before;
  // After the last one was enqueued; `done` follows it.
  std::function<absl::Status(size_t group, const hal::EventPtr& done)> after;
};

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

  // Divides executions at the uses of groups: StateEvents of an execution has an event for each
  // group, after its last use of these states. InvalidArgument for a state that does not exist.
  absl::Status WatchStates(absl::Span<const StateGroup> groups, StateHooks hooks = {});
  // The events of the last enqueued execution, by group.
  const std::vector<hal::EventPtr>& StateEvents() const { return events_; }

  // Enqueues one execution. `inputs`: the values of inputs that are neither states nor constants,
  // in order; they must stay unchanged until the queue is finished.
  absl::Status Enqueue(hal::Queue& queue, absl::Span<const HostTensor> inputs);
  // Executes in a separate queue, kernel by kernel, and waits. No other execution may be in flight.
  absl::StatusOr<std::vector<KernelTime>> Profile(absl::Span<const HostTensor> inputs);
  // The output of the last enqueued execution; its data is valid once the queue is finished.
  absl::StatusOr<HostTensor> ReadAsync(hal::Queue& queue, size_t output,
                                       hal::HostMemory memory = {});

 private:
  BoundRun(std::shared_ptr<LoadedProgram> program, std::unique_ptr<Frame> frame,
           std::vector<hal::BufferPtr> states);
  absl::Status RunOnHost(hal::Queue& queue, absl::Span<const HostTensor> inputs);

  const std::shared_ptr<LoadedProgram> program_;
  const std::unique_ptr<Frame> frame_;  // null if the host computes the program
  const std::vector<hal::BufferPtr> states_;
  std::vector<HostTensor> host_outputs_;  // of the last execution by the host

  absl::Status EnqueueParts(hal::Queue& queue);

  // Commands, and what follows them: the event of groups, then the first use of others.
  struct Part {
    std::vector<Command> commands;
    std::vector<size_t> ends;
    std::vector<size_t> begins;
  };
  StateHooks hooks_;
  std::vector<Part> parts_;  // empty: no state is watched
  std::vector<hal::EventPtr> events_;
};

}  // namespace tartan::evaluator
