// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/data/batch_loader.h"
#include "frontend/data/order.h"
#include "frontend/train/feeds.h"
#include "frontend/train/run_checkpoints.h"
#include "frontend/train/validation.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

class Run {
 public:
  Run(Trainer& trainer, const onnx::OnnxModel& model, std::shared_ptr<const data::Dataset> dataset,
      const TrainerOptions& trainer_options, const FitOptions& options, const FitHooks& hooks)
      : trainer_(trainer),
        model_(model),
        dataset_(std::move(dataset)),
        trainer_options_(trainer_options),
        options_(options),
        hooks_(hooks),
        ranks_(trainer_options.exchange.get()),
        checkpoints_(options, ranks_, hooks.file_error) {}

  // Evaluates without training, and logs one line.
  absl::StatusOr<FitResult> Evaluate() {
    TARTAN_RETURN_IF_ERROR(Prepare());
    const bool has_share = options_.validation > 0;
    TARTAN_ASSIGN_OR_RETURN(const std::optional<Validation> validation,
                            ValidateAll(has_share ? split_.validation : split_.training));
    if (!validation.has_value() || validation->examples == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no batch of ", batch_, " examples to evaluate"));
    }
    if (validation->classes.has_value())
      TARTAN_RETURN_IF_ERROR(
          CheckRunLabels(*dataset_, options_, feeds_, trainer_options_.loss, *validation->classes));
    LogLine line;
    line.loss = validation->loss;
    line.metrics = result_.metrics = validation->values;
    line.is_epoch_end = true;
    if (hooks_.log) hooks_.log(line);
    return result_;
  }

  absl::StatusOr<FitResult> Go() {
    TARTAN_RETURN_IF_ERROR(Prepare());
    TARTAN_RETURN_IF_ERROR(Resume());
    data::BatchOptions batches = BatchesOf(split_.training, options_.shuffle);
    batches.drop_last = drops_last_;
    if (ranks_ != nullptr) {
      batches.part = ranks_->rank();
      batches.parts = ranks_->ranks();
    }
    TARTAN_ASSIGN_OR_RETURN(const auto loader,
                            data::BatchLoader::Start(dataset_, batches, run_.next));
    per_epoch_ = loader->steps_per_epoch();
    const int64_t accumulate = trainer_options_.accumulate;
    all_updates_ = options_.steps > 0
                       ? options_.steps
                       : std::max<int64_t>(1, options_.epochs * per_epoch_ / accumulate);
    const int64_t all_batches = all_updates_ * accumulate;
    epochs_ = (all_batches + per_epoch_ - 1) / per_epoch_;
    if (options_.steps == 0) epochs_ = std::max(epochs_, options_.epochs);
    const int64_t first = trainer_.step();
    const absl::Status status = Loop(*loader);
    if (!status.ok() && !absl::IsOutOfRange(status) && trainer_.step() > first &&
        ranks_ == nullptr) {
      // Keeps the training state so far. Ranks that failed cannot: their states may differ.
      (void)Save(kLastCheckpoint);
    }
    TARTAN_RETURN_IF_ERROR(status);
    std::sort(step_times_.begin(), step_times_.end());
    if (!step_times_.empty()) result_.median_step_ms = step_times_[step_times_.size() / 2];
    result_.steps = trainer_.step();
    return result_;
  }

 private:
  // Selects the columns to read and their types, the batch size, and the validation rows.
  absl::Status Prepare() {
    TARTAN_RETURN_IF_ERROR(options_.Check());
    // Unknown metric names fail before the first step.
    TARTAN_RETURN_IF_ERROR(Metrics().status());
    TARTAN_ASSIGN_OR_RETURN(feeds_, MatchColumns(model_, *dataset_, trainer_options_.loss,
                                                 options_.columns, options_.target));
    TARTAN_RETURN_IF_ERROR(CheckAugmentations(feeds_, trainer_options_.augment));
    TARTAN_ASSIGN_OR_RETURN(batch_, BatchSize(feeds_, options_.batch, dataset_->size(),
                                              ranks_ == nullptr ? 1 : ranks_->ranks()));
    if (options_.validation_data == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          split_, data::SplitRows(dataset_->size(), options_.validation, options_.seed));
    } else {
      TARTAN_ASSIGN_OR_RETURN(split_, data::SplitRows(dataset_->size(), 0, options_.seed));
    }
    drops_last_ = DropsLast(options_.drop_last);
    return CheckRunData(*dataset_, options_, feeds_);
  }

  data::BatchOptions BatchesOf(std::vector<int64_t> rows, bool shuffle) const {
    data::BatchOptions batches;
    batches.columns = feeds_.BatchColumns();
    batches.rows = std::move(rows);
    batches.batch_size = batch_;
    batches.shuffle = shuffle;
    batches.seed = options_.seed;
    batches.allocate = [this](int64_t bytes) { return trainer_.AllocateBatch(bytes); };
    return batches;
  }

  // Returns true if incomplete batches must be dropped: the model fixes the batch size, or
  // accumulated batches must have equal weight. A dataset smaller than one batch is a batch of its
  // own.
  bool DropsLast(bool wanted) const {
    if (feeds_.batch != 0) return true;
    const bool fills_one = static_cast<int64_t>(split_.training.size()) >= batch_;
    return fills_one && (wanted || trainer_options_.accumulate > 1);
  }

  // The number of batches of an epoch, if `batch` is their size.
  int64_t PerEpoch(int64_t batch) const {
    const auto rows = static_cast<int64_t>(split_.training.size());
    return std::max<int64_t>(1, drops_last_ ? rows / batch : (rows + batch - 1) / batch);
  }

  // The schedule's number of finished updates.
  int64_t Done() const { return trainer_.step() + run_.steps_ahead; }

  absl::Status Loop(data::BatchLoader& loader) {
    interval_start_ = Clock::now();
    while (Done() < all_updates_ && !EndsEarly(/*is_epoch_end=*/run_.next.step == 0)) {
      TARTAN_ASSIGN_OR_RETURN(const std::optional<data::Batch> batch, loader.Next());
      if (!batch.has_value()) break;
      run_.next = batch->position;
      rate_ = options_.rate * options_.schedule.At(Done(), all_updates_) * run_.plateau.share;
      const int64_t before = trainer_.step();
      TARTAN_RETURN_IF_ERROR(Step(*batch));
      batches_started_ = trainer_.batches();
      const bool updated = trainer_.step() > before;
      if (updated) ++updates_since_line_;
      run_.next = loader.position();
      const bool is_epoch_end = batch->position.step + 1 == per_epoch_;
      TARTAN_ASSIGN_OR_RETURN(const bool stops, Stops(updated));
      const bool is_last = Done() >= all_updates_;
      if (is_epoch_end || stops || is_last ||
          (updated && (updates_since_line_ >= options_.log_every || is_first_))) {
        TARTAN_RETURN_IF_ERROR(Log(batch->position.epoch + 1, is_epoch_end || is_last));
      } else if (std::ssize(unread_batches_) >= options_.log_every) {
        TARTAN_RETURN_IF_ERROR(Read());
      }
      const bool saves = updated && options_.checkpoint_every > 0 &&
                         trainer_.step() % options_.checkpoint_every == 0;
      saves_next_ = saves_next_ || saves || is_epoch_end || stops || is_last;
      // Gradients that are not applied yet are different on each rank.
      if (saves_next_ && (updated || ranks_ == nullptr))
        TARTAN_RETURN_IF_ERROR(Save(kLastCheckpoint));
      result_.was_stopped = stops;
      if (stops) break;
    }
    TARTAN_RETURN_IF_ERROR(trainer_.ShareStatistics());
    TARTAN_RETURN_IF_ERROR(RestoreBest());
    return trainer_.GatherValues();
  }

  // Starts the step of a batch, or of this rank's part of it.
  absl::Status Step(const data::Batch& batch) {
    if (batch.size == 0) {
      unread_batches_.emplace_back();
      return trainer_.StepWithoutExamples(rate_);
    }
    HostTensor target;
    const api::NamedTensors inputs = feeds_.InputsOf(batch, &target);
    TARTAN_ASSIGN_OR_RETURN(const double compile_ms, trainer_.Prepare(inputs, target));
    interval_compile_ms_ += compile_ms;
    TARTAN_RETURN_IF_ERROR(CheckOutput(inputs, target));
    TARTAN_RETURN_IF_ERROR(trainer_.Step(inputs, target, rate_));
    if (!has_compiled_ && hooks_.compiled) hooks_.compiled();
    has_compiled_ = true;
    unread_batches_.emplace_back(inputs, target);
    return absl::OkStatus();
  }

  // Returns true if training stops here. Ranks stop together after an update, if one of them
  // should.
  absl::StatusOr<bool> Stops(bool updated) {
    should_stop_ = should_stop_ || (hooks_.should_stop && hooks_.should_stop());
    if (ranks_ == nullptr || !updated) return should_stop_ && ranks_ == nullptr;
    double count = should_stop_ ? 1 : 0;
    TARTAN_RETURN_IF_ERROR(ranks_->SumNumbers(absl::MakeSpan(&count, 1)));
    return count > 0;
  }

  // Reads the progress of the started steps, and forgets their batches.
  absl::Status Read() {
    const absl::StatusOr<Progress> read = trainer_.Read();
    if (absl::IsOutOfRange(read.status())) return Explain(read.status());
    TARTAN_RETURN_IF_ERROR(read.status());
    progress_.Add(*read);
    unread_batches_.clear();
    return absl::OkStatus();
  }

  // Checks labels before the first step, as soon as the number of classes is known.
  absl::Status CheckOutput(const api::NamedTensors& inputs, const HostTensor& target) {
    if (!is_first_ || target.type() != DataType::kInt64) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(const std::optional<int64_t> classes,
                            trainer_.CountClasses(inputs, target));
    if (!classes.has_value()) return absl::OkStatus();
    return CheckRunLabels(*dataset_, options_, feeds_, trainer_options_.loss, *classes);
  }

  absl::Status Log(int64_t epoch, bool validates) {
    TARTAN_RETURN_IF_ERROR(Read());
    const Progress progress = std::exchange(progress_, {});
    const int64_t updates = std::exchange(updates_since_line_, 0);
    const double ms =
        (MillisecondsSince(interval_start_) - std::exchange(interval_compile_ms_, 0)) /
        static_cast<double>(std::max<int64_t>(updates, 1));
    // The first step includes page faults.
    if (!is_first_) step_times_.insert(step_times_.end(), static_cast<size_t>(updates), ms);
    LogLine line;
    line.step = trainer_.step();
    line.steps = all_updates_ - run_.steps_ahead;
    line.epoch = epoch;
    line.epochs = epochs_;
    line.rate = rate_;
    line.loss = progress.loss;
    line.step_ms = ms;
    line.is_epoch_end = validates;
    line.loss_scale = result_.loss_scale = progress.loss_scale;
    line.left_out = result_.left_out = progress.left_out;
    if (progress.accuracy.has_value()) line.metrics["accuracy"] = *progress.accuracy;
    if (validates) {
      TARTAN_ASSIGN_OR_RETURN(const std::optional<Validation> validation,
                              ValidateAll(split_.validation));
      if (validation.has_value()) {
        line.metrics.insert(validation->values.begin(), validation->values.end());
        TARTAN_RETURN_IF_ERROR(NoteValidation(validation->loss));
      }
    }
    result_.metrics = line.metrics;
    result_.metrics["loss"] = line.loss;
    if (hooks_.log) hooks_.log(line);
    is_first_ = false;
    interval_start_ = Clock::now();
    return absl::OkStatus();
  }

  // Adds the tensor that was not finite to the error.
  absl::Status Explain(const absl::Status& status) {
    const auto number = static_cast<int64_t>(unread_batches_.size()) -
                        (batches_started_ - trainer_.failed_step() + 1);
    if (number < 0) return status;
    const auto& [inputs, target] = unread_batches_[static_cast<size_t>(number)];
    if (inputs.empty()) return status;
    const absl::StatusOr<std::string> found = trainer_.FindNonFinite(inputs, target);
    if (!found.ok() && ranks_ != nullptr) return status;  // another rank's examples
    const std::string where =
        found.ok() ? absl::StrCat(*found, " is the first tensor with a value that is not finite")
                   : std::string("all tensors that the loss depends on are finite");
    return absl::Status(status.code(), absl::StrCat(status.message(), "; ", where));
  }

  // The metrics of the validation data; empty without any. Of several ranks the first one
  // validates.
  absl::StatusOr<std::optional<Validation>> ValidateAll(std::vector<int64_t> rows) {
    const bool is_separate = options_.validation_data != nullptr;
    if (!is_separate && rows.empty()) return std::nullopt;
    TARTAN_ASSIGN_OR_RETURN(const auto metrics, Metrics());
    data::BatchOptions batches = BatchesOf(std::move(rows), /*shuffle=*/false);
    if (is_separate) batches.rows.reset();
    TARTAN_RETURN_IF_ERROR(trainer_.ShareStatistics());
    const auto& data = is_separate ? options_.validation_data : dataset_;
    if (ranks_ != nullptr)
      return ValidateOnFirstRank(*ranks_, trainer_, feeds_, data, std::move(batches), metrics);
    return Validate(trainer_, feeds_, data, std::move(batches), metrics);
  }

  absl::StatusOr<NamedMetrics> Metrics() const {
    return ValidationMetrics(trainer_options_.loss, options_.metrics, options_.threshold);
  }

  absl::Status NoteValidation(double loss) {
    if (options_.schedule.kind == ScheduleKind::kPlateau)
      run_.plateau.Add(options_.schedule, options_.rate, loss);
    const bool is_better = !run_.best.has_value() || loss < *run_.best;
    run_.epochs_since_best = is_better ? 0 : run_.epochs_since_best + 1;
    if (!is_better) return absl::OkStatus();
    run_.best = loss;
    if (options_.patience > 0) {
      TARTAN_ASSIGN_OR_RETURN(best_state_, trainer_.Save());
    }
    return Save(kBestCheckpoint);
  }

  bool EndsEarly(bool is_epoch_end) {
    if (!is_epoch_end || options_.patience == 0 || run_.epochs_since_best < options_.patience)
      return false;
    result_.ended_early = true;
    return true;
  }

  absl::Status RestoreBest() {
    if (options_.patience == 0 || !best_state_.has_value() || run_.epochs_since_best == 0 ||
        result_.was_stopped) {
      return absl::OkStatus();
    }
    result_.is_best = true;
    return trainer_.Restore(*best_state_);
  }

  absl::Status Save(const std::string& file) {
    if (file == kLastCheckpoint) saves_next_ = false;
    return checkpoints_.Save(file, trainer_, run_);
  }

  absl::Status Resume() {
    run_.batch_size = batch_;
    const auto rows = static_cast<int64_t>(split_.training.size());
    const RunParts parts = {
        model_,     trainer_.parameters(), trainer_options_, options_,
        *dataset_,  feeds_.Columns(),      batch_,           rows > batch_ ? rows % batch_ : 0,
        drops_last_};
    TARTAN_ASSIGN_OR_RETURN(const std::optional<Checkpoint> checkpoint,
                            checkpoints_.Resume(parts, trainer_, hooks_.note, &best_state_));
    if (checkpoint.has_value()) GoTo(*checkpoint);
    return absl::OkStatus();
  }

  void GoTo(const Checkpoint& checkpoint) {
    run_ = checkpoint.run;
    const int64_t old_batch = std::exchange(run_.batch_size, batch_);
    if (old_batch == batch_) return;
    run_.next = InOtherBatches(run_.next, old_batch, PerEpoch(old_batch), batch_);
    // If epochs are counted, the same share of steps and epochs is finished.
    if (options_.steps > 0) return;
    const int64_t batches = run_.next.epoch * PerEpoch(batch_) + run_.next.step;
    run_.steps_ahead = batches / trainer_options_.accumulate - checkpoint.state.step;
  }

  Trainer& trainer_;
  const onnx::OnnxModel& model_;
  const std::shared_ptr<const data::Dataset> dataset_;
  const TrainerOptions& trainer_options_;
  const FitOptions& options_;
  const FitHooks& hooks_;

  GradientExchange* const ranks_;  // null: one process

  Feeds feeds_;
  int64_t batch_ = 0;
  data::Split split_;
  bool drops_last_ = false;
  RunCheckpoints checkpoints_;
  int64_t per_epoch_ = 0;    // batches per epoch
  int64_t all_updates_ = 0;  // of the schedule
  int64_t epochs_ = 0;

  RunPosition run_;
  double rate_ = 0;
  int64_t updates_since_line_ = 0;
  Progress progress_;  // since the last line
  int64_t batches_started_ = 0;
  std::vector<std::pair<api::NamedTensors, HostTensor>> unread_batches_;
  bool should_stop_ = false;
  bool saves_next_ = false;  // a checkpoint is due
  bool has_compiled_ = false;
  bool is_first_ = true;  // no line yet
  Clock::time_point interval_start_;
  double interval_compile_ms_ = 0;
  std::vector<double> step_times_;
  std::optional<TrainerState> best_state_;
  FitResult result_;
};

}  // namespace

absl::StatusOr<FitResult> Fit(Trainer& trainer, const onnx::OnnxModel& model,
                              std::shared_ptr<const data::Dataset> dataset,
                              const TrainerOptions& trainer_options, const FitOptions& options,
                              const FitHooks& hooks) {
  Run run(trainer, model, std::move(dataset), trainer_options, options, hooks);
  return options.evaluates ? run.Evaluate() : run.Go();
}

}  // namespace tartan::train
