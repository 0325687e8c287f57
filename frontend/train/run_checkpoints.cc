// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/run_checkpoints.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

absl::StatusOr<std::optional<Checkpoint>> RunCheckpoints::ReadLast(
    std::vector<std::string>* notes) const {
  const std::string path = folder_->PathOf(kLastCheckpoint);
  absl::StatusOr<Checkpoint> checkpoint = folder_->Read(kLastCheckpoint);
  if (absl::IsNotFound(checkpoint.status())) {
    if (options_.resume)
      notes->push_back(absl::StrCat("there is no ", path, ": training begins anew"));
    return std::nullopt;
  }
  if (!options_.resume) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " already exists: resume from it, or name another folder"));
  }
  TARTAN_RETURN_IF_ERROR(checkpoint.status());
  TARTAN_RETURN_IF_ERROR(CompareFacts(path, checkpoint->facts, facts_, notes));
  notes->push_back(absl::StrCat("training continues after step ", checkpoint->state.step));
  return *std::move(checkpoint);
}

absl::Status RunCheckpoints::OpenFolder() {
  if (!writes()) {
    folder_ = CheckpointFolder::OpenToRead(options_.checkpoint);
    return absl::OkStatus();
  }
  auto folder = CheckpointFolder::Open(options_.checkpoint);
  TARTAN_RETURN_IF_ERROR(OfFile(folder.status()));
  folder_ = *std::move(folder);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Checkpoint>> RunCheckpoints::Resume(
    const RunParts& parts, Trainer& trainer, const std::function<void(const std::string&)>& note,
    std::optional<TrainerState>* best) {
  shards_ = parts.trainer.shard != Shard::kNone;
  if (ranks_ != nullptr || !options_.checkpoint.empty()) {
    TARTAN_ASSIGN_OR_RETURN(facts_, FactsOf(parts));
  }
  if (ranks_ != nullptr) {
    std::map<std::string, std::string> agreed = FactsToAgreeOn(parts, facts_);
    if (shards_)
      agreed["parts of the state"] = trainer.KeepsPartsApart() ? "apart" : "within whole tensors";
    TARTAN_RETURN_IF_ERROR(ranks_->Agree(agreed));
  }
  if (options_.checkpoint.empty()) {
    if (!options_.resume) return std::nullopt;
    return absl::InvalidArgumentError("no checkpoint folder is given to resume from");
  }
  TARTAN_RETURN_IF_ERROR(OpenFolder());
  std::vector<std::string> notes;
  absl::StatusOr<std::optional<Checkpoint>> last = ReadLast(&notes);
  TARTAN_RETURN_IF_ERROR(OfFile(last.status()));
  if (ranks_ != nullptr) {
    const int64_t step = last->has_value() ? (*last)->state.step : -1;
    TARTAN_RETURN_IF_ERROR(ranks_->Agree({{"the step of the checkpoint", absl::StrCat(step)}}));
  }
  for (const std::string& text : notes) {
    if (note) note(text);
  }
  if (!last->has_value()) return std::nullopt;
  TARTAN_RETURN_IF_ERROR(OfFile(trainer.Restore((*last)->state)));
  if (options_.patience > 0 && (*last)->run.best.has_value()) {
    absl::StatusOr<Checkpoint> stored = folder_->Read(kBestCheckpoint);
    TARTAN_RETURN_IF_ERROR(OfFile(stored.status()));
    *best = std::move(stored->state);
  }
  return *std::move(last);
}

absl::Status RunCheckpoints::Save(const std::string& name, Trainer& trainer,
                                  const RunPosition& run) const {
  if (folder_ == nullptr) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(trainer.ShareStatistics());
  Checkpoint checkpoint;
  if (writes() || shards_) {
    TARTAN_ASSIGN_OR_RETURN(checkpoint.state, trainer.Save());
  }
  if (!writes()) return absl::OkStatus();
  checkpoint.facts = facts_;
  checkpoint.run = run;
  return OfFile(folder_->Write(name, checkpoint));
}

data::Position InOtherBatches(data::Position position, int64_t batch, int64_t per_epoch,
                              int64_t other_batch) {
  if (position.step >= per_epoch) return {position.epoch + 1, 0};
  return {position.epoch, position.step * batch / other_batch};
}

}  // namespace tartan::train
