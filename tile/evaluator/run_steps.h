// SPDX-License-Identifier: Apache-2.0
// Allocates the buffers of a program, and records and executes the commands for its steps. Internal
// to this folder.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "hal/hal.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::evaluator {

using Buffers = std::vector<hal::BufferPtr>;

// Consecutive launches, and copies among them.
struct RecordedSteps {
  hal::RecordingPtr recording;
  std::vector<bool> is_launch;  // per step of the recording
};

using Command = std::variant<RecordedSteps, compiler::FillStep, compiler::CopyStep>;

// Allocates arenas and creates a sub-buffer for every buffer of a region that does not fill its
// arena; other buffers are unchanged. Uses the arenas in `shared` if they are large enough, and
// adds or replaces arenas there otherwise. Null: all arenas are new.
absl::Status AllocateRegion(const CompiledProgram& program, const CompiledProgram::Region& region,
                            Buffers* buffers, Buffers* shared = nullptr);

// For debugging (hal::DeviceInfo::poisons_memory): overwrites the buffers of an execution, so that
// stale values cannot hide missing writes. Does nothing on other devices.
absl::Status PoisonRun(const CompiledProgram& program, const Buffers& buffers, hal::Queue& queue);

// `buffers`: per buffer of the list; those that the steps use must exist.
absl::StatusOr<std::vector<Command>> RecordSteps(const CompiledProgram& program,
                                                 absl::Span<const compiler::Step> steps,
                                                 const Buffers& buffers);

// The launches, if all steps are launches of one executable; nothing otherwise.
std::optional<std::vector<hal::Launch>> LaunchesOf(const CompiledProgram& program,
                                                   absl::Span<const compiler::Step> steps,
                                                   const Buffers& buffers,
                                                   hal::ExecutablePtr* executable);

// `events`, if not null, requires a profiling queue and receives one event per launch.
absl::Status RunCommands(const CompiledProgram& program, const std::vector<Command>& commands,
                         const Buffers& buffers, hal::Queue& queue,
                         std::vector<hal::EventPtr>* events);

// For kernels with bounds checks (compiler/check_bounds.h): OutOfRange if an access was out of
// bounds according to buffer number `report`. Waits for the queue; -1: does nothing.
absl::Status CheckBoundsReport(const CompiledProgram& program, int report, const Buffers& buffers,
                               hal::Queue& queue);

}  // namespace tartan::evaluator
