// SPDX-License-Identifier: Apache-2.0
// The memory, queue and recorded launches of one run of a loaded program. Internal to this folder.
#pragma once

#include <memory>
#include <vector>

#include "hal/hal.h"
#include "tile/evaluator/run_steps.h"

namespace tartan::evaluator {

class RecordedRepetition;  // recorded_repetition.h

struct Frame {
  Buffers buffers;                    // per buffer of the list, resident ones too
  std::unique_ptr<hal::Queue> queue;  // null where runs are put into another one
  std::vector<Command> commands;
  std::vector<std::shared_ptr<const RecordedRepetition>> repetitions;  // of the program, if any
};

}  // namespace tartan::evaluator
