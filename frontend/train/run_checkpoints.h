// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run: it begins at the last one. Internal to frontend/train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/data/batch_loader.h"
#include "frontend/train/checkpoint_folder.h"
#include "frontend/train/run_facts.h"

namespace tartan::train {

inline constexpr char kLastCheckpoint[] = "last.ckpt";
inline constexpr char kBestCheckpoint[] = "best.ckpt";

class RunCheckpoints {
 public:
  // `ranks`: the ranks of the run, of which the first one writes; null: one process.
  // `file_error` converts errors of the folder and its files; empty: none.
  RunCheckpoints(const FitOptions& options, GradientExchange* ranks,
                 std::function<absl::Status(absl::Status)> file_error)
      : options_(options), ranks_(ranks), file_error_(std::move(file_error)) {}

  // Opens the folder, if the options have one. If they say so, restores the trainer from its last
  // checkpoint; otherwise there must be none. Returns that checkpoint, or nullopt if the run begins
  // anew. `best` receives the trainer's state of the best validation, if early stopping needs it.
  // `note` is called with what the user should know. Errors as from CompareFacts, too.
  absl::StatusOr<std::optional<Checkpoint>> Resume(
      const RunParts& parts, Trainer& trainer, const std::function<void(const std::string&)>& note,
      std::optional<TrainerState>* best);

  // Writes a file of the folder; does nothing without a folder. All ranks call it.
  absl::Status Save(const std::string& name, Trainer& trainer, const RunPosition& run) const;

 private:
  absl::Status OfFile(const absl::Status& status) const {
    return status.ok() || !file_error_ ? status : file_error_(status);
  }
  bool writes() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  absl::Status OpenFolder();
  absl::StatusOr<std::optional<Checkpoint>> ReadLast(std::vector<std::string>* notes) const;

  const FitOptions& options_;
  GradientExchange* const ranks_;
  const std::function<absl::Status(absl::Status)> file_error_;
  RunFacts facts_;
  std::unique_ptr<CheckpointFolder> folder_;  // null: none
  bool shards_ = false;                       // ranks keep parts of the trainer's state
};

// The position after as many examples of the epoch, in batches of another size: at the next lower
// batch, or at the next epoch if the epoch was complete.
data::Position InOtherBatches(data::Position position, int64_t batch, int64_t per_epoch,
                              int64_t other_batch);

}  // namespace tartan::train
