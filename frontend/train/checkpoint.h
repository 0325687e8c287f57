// SPDX-License-Identifier: Apache-2.0
// A run of training in a file, to be taken up again where it was.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/batch_loader.h"
#include "frontend/train/trainer.h"

namespace tartan::train {

struct Checkpoint {
  // What was decided when the run began: a run with another identity is not its continuation.
  std::string identity;
  TrainerState state;
  data::Position position;     // of the next batch
  std::optional<double> best;  // of the validation
  int64_t epochs_since_best = 0;
};

// The file appears whole or not at all, and what was there stays until then. Unavailable with the
// system's reason where it cannot be written.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// NotFound where there is none; InvalidArgument, naming the file, for one that is damaged (every
// byte is under a checksum) or no checkpoint.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace tartan::train
