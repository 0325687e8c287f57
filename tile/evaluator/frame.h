// SPDX-License-Identifier: Apache-2.0
// The resources of one execution of a loaded program: memory, queue and recorded launches. Internal
// to this folder.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

class RecordedRepetition;  // recorded_repetition.h

// Memory for a program's large outputs (CompiledProgram::lent_outputs), and commands that write
// there.
struct OutputMemory {
  // Maximum sets of lent memory per frame; beyond it outputs are copied. A caller that keeps the
  // outputs of every execution would otherwise cause a new recording each time.
  static constexpr int kMaxLent = 3;

  Buffers buffers;  // one per lent output
  std::vector<Command> commands;
  std::vector<std::weak_ptr<const void>> lent;  // expired once callers have released them
};

struct Frame {
  Buffers buffers;                    // per buffer of the list, including resident ones
  std::unique_ptr<hal::Queue> queue;  // null if executions are enqueued into the caller's queue
  std::vector<Command> commands;
  // `lent`: outputs of `commands` that callers still hold. `others`: memory for further executions
  // (lent_outputs.h).
  std::vector<std::weak_ptr<const void>> lent;
  std::vector<OutputMemory> others;
  // recordings of repetitions of the program
  std::vector<std::shared_ptr<const RecordedRepetition>> repetitions;
};

}  // namespace tartan::evaluator
