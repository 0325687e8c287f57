// SPDX-License-Identifier: Apache-2.0
// Memory for the buffers of a program and the commands that run its steps on them. Internal to this
// folder.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "hal/hal.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::evaluator {

using Buffers = std::vector<hal::BufferPtr>;

// A run of launches without anything between them, or a fill or copy.
using Command = std::variant<hal::RecordingPtr, compiler::FillStep, compiler::CopyStep>;

// Sub-buffers of arenas for every buffer of a region, one per piece; others stay as they are. The
// arenas are those of `shared` where they are large enough, and go there where they are not; null:
// all are new.
absl::Status AllocateRegion(const CompiledProgram& program, const CompiledProgram::Region& region,
                            Buffers* buffers, Buffers* shared = nullptr);

// For debugging (hal::DeviceInfo::poisons_memory): fills the buffers of a run, whose earlier values
// would hide that nobody writes them. Does nothing on other devices.
absl::Status PoisonRun(const CompiledProgram& program, const Buffers& buffers, hal::Queue& queue);

// `buffers`: per buffer of the list; those that the steps use are there.
absl::StatusOr<std::vector<Command>> RecordSteps(const CompiledProgram& program,
                                                 absl::Span<const compiler::Step> steps,
                                                 const Buffers& buffers);

// The launches of steps that are nothing else, of one executable; nothing for others.
std::optional<std::vector<hal::Launch>> LaunchesOf(const CompiledProgram& program,
                                                   absl::Span<const compiler::Step> steps,
                                                   const Buffers& buffers,
                                                   hal::ExecutablePtr* executable);

// With `events`, not null, and a profiling queue: one event per launch.
absl::Status RunCommands(const CompiledProgram& program, const std::vector<Command>& commands,
                         const Buffers& buffers, hal::Queue& queue,
                         std::vector<hal::EventPtr>* events);

// Of checked kernels (compiler/check_bounds.h): OutOfRange if one that ran left its memory, as
// noted in `report`, a position in the list's buffers. Waits for the queue; -1 does nothing.
absl::Status CheckBoundsReport(const CompiledProgram& program, int report, const Buffers& buffers,
                               hal::Queue& queue);

}  // namespace tartan::evaluator
