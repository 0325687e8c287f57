// SPDX-License-Identifier: Apache-2.0
// The memory, queue and recorded launches of one run of a loaded program. Internal to this folder.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator {

using Buffers = std::vector<hal::BufferPtr>;

// A run of launches without anything between them, or a fill or copy.
using Command = std::variant<hal::RecordingPtr, compiler::FillStep, compiler::CopyStep>;

struct LoadedProgram::Frame {
  Buffers buffers;  // per buffer of the list, resident ones too
  std::unique_ptr<hal::Queue> queue;
  std::vector<Command> commands;
};

}  // namespace tartan::evaluator
