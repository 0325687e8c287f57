// SPDX-License-Identifier: Apache-2.0
// Saves a training run to a file, from which it can be resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/batch_loader.h"
#include "frontend/train/schedule.h"
#include "frontend/train/trainer.h"

namespace tartan::train {

// A property of a run that the run that resumes it must have, too.
struct RunFact {
  std::string name;  // "the optimizer"
  std::string value;
  // True if a resumed run may have another value, which a note reports. Files do not keep it.
  bool may_change = false;
};
using RunFacts = std::vector<RunFact>;

// The progress of a run, without the trainer's state.
struct RunPosition {
  data::Position next;         // position of the next batch
  int64_t batch_size = 0;      // the unit of `next`
  int64_t steps_ahead = 0;     // difference between the step of the schedule and the trainer's
  std::optional<double> best;  // best validation loss
  int64_t epochs_since_best = 0;
  Plateau plateau;
};

struct Checkpoint {
  RunFacts facts;
  TrainerState state;
  RunPosition run;
};

// Writes the file atomically; an existing file is replaced only by a complete one. Unavailable,
// with the system's reason, if it cannot be written.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// NotFound if the file does not exist. InvalidArgument, naming the file, if it is not a checkpoint
// or is damaged: checksums cover every byte.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace tartan::train
