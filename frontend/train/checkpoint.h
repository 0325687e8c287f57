// SPDX-License-Identifier: Apache-2.0
// Saves a training run to a file, from which it can be resumed.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/batch_loader.h"
#include "frontend/train/trainer.h"

namespace tartan::train {

struct Checkpoint {
  // The decisions at the start of the run; a run with another identity cannot resume from it.
  std::string identity;
  TrainerState state;
  data::Position position;     // position of the next batch
  std::optional<double> best;  // best validation loss
  int64_t epochs_since_best = 0;
};

// Writes the file atomically; an existing file is replaced only by a complete one. Unavailable,
// with the system's reason, if it cannot be written.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// NotFound if the file does not exist. InvalidArgument, naming the file, if it is not a checkpoint
// or is damaged: checksums cover every byte.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace tartan::train
