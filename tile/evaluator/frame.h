// SPDX-License-Identifier: Apache-2.0
// The memory, queue and recorded launches of one run of a loaded program. Internal to this folder.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

class RecordedRepetition;  // recorded_repetition.h

// Memory for a program's large outputs (CompiledProgram::lent_outputs), and a run's commands, which
// write there.
struct OutputMemory {
  // More are copied: whoever keeps the outputs of every run would have a run recorded each time.
  static constexpr int kMostLent = 3;

  Buffers buffers;  // one for each of those outputs
  std::vector<Command> commands;
  std::vector<std::weak_ptr<const void>> lent;  // what callers keep, and others do not any more
};

struct Frame {
  Buffers buffers;                    // per buffer of the list, resident ones too
  std::unique_ptr<hal::Queue> queue;  // null where runs are put into another one
  std::vector<Command> commands;
  // What callers keep of the memory to which these commands write outputs, and memory for other
  // runs' (lent_outputs.h).
  std::vector<std::weak_ptr<const void>> lent;
  std::vector<OutputMemory> others;
  std::vector<std::shared_ptr<const RecordedRepetition>> repetitions;  // of the program, if any
};

}  // namespace tartan::evaluator
