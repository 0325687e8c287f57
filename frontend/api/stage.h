// A model bound to a signature: the programs its runs consist of, as a tree. Where a value decides
// what comes next, a stage has one successor for each answer it has met. Internal to frontend/api.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/device_runner.h"
#include "frontend/api/fetch.h"
#include "frontend/api/model.h"

namespace tartan::api {

struct Stage;
// By answer, the most recently used first.
using StageList = std::list<std::pair<std::string, std::shared_ptr<Stage>>>;

struct Stage {
  Stage() = default;
  Stage(const Stage&) = delete;
  // One after the other, however long the chain that goes with it.
  ~Stage();

  Fetch fetch;
  // Of the last stage of a run: what the fetched tensors are put into.
  bool is_last = false;
  std::vector<Value> outputs;
  // Of others: the question. The operands are fetched first, then what is kept.
  size_t operand_count = 0;
  std::shared_ptr<const Call> call;
  std::unique_ptr<DeviceRunner> runner;  // of the call
  StageList next;                        // guarded by the session's mutex
};

// What one stage of a run has given.
struct Step {
  bool is_call = false;
  std::vector<HostTensor> results;
  std::vector<HostTensor> kept;

  std::string Key() const;  // the values that were wanted, or the shapes of a call's results
};

// Values while a run goes from stage to stage.
struct RunState {
  std::vector<HostTensor> values;    // by placeholder
  std::vector<Tensor> placeholders;  // only while binding
  std::vector<Step> steps;
};

// Runs a stage that is not the last and adds what it gives to the state.
absl::Status RunStage(const Stage& stage, RunState* state, RunStatistics* statistics,
                      std::vector<KernelProfile>* profile);
// Runs the last one.
absl::StatusOr<std::vector<HostValue>> RunLastStage(const Stage& stage, const RunState& state,
                                                    RunStatistics* statistics,
                                                    std::vector<KernelProfile>* profile);

// Answers the importer's questions: those met before in this run from its steps, others by making a
// stage and running it.
class StageRecorder final : public Resolver {
 public:
  // `last`: the stage whose answer is the last of the state's steps; null at the beginning of a
  // run.
  StageRecorder(const Device& device, LoadedPrograms& programs, std::string name, RunState state,
                std::shared_ptr<Stage> last, bool is_checked, RunStatistics* statistics)
      : device_(device),
        programs_(programs),
        name_(std::move(name)),
        state_(std::move(state)),
        known_(state_.steps.size()),
        last_(std::move(last)),
        is_checked_(is_checked),
        statistics_(statistics) {}

  void Begin(absl::Span<const Tensor> placeholders) override {
    state_.placeholders.assign(placeholders.begin(), placeholders.end());
  }
  absl::StatusOr<Answer> Ask(const Question& question) override;
  // Makes the stage of the outputs. Returns the first of the stages that were made: what comes
  // after `last`.
  absl::StatusOr<std::shared_ptr<Stage>> Finish(std::vector<Value> outputs);

  const RunState& state() const { return state_; }
  // The stage that Finish has made.
  const std::shared_ptr<Stage>& last() const { return last_; }

 private:
  void Append(std::shared_ptr<Stage> stage);
  Answer MakeAnswer(const Step& step, const Question& question, const std::string& name);
  DataType ResultType(DataType actual, const Question& question) const;

  const Device& device_;
  LoadedPrograms& programs_;
  const std::string name_;
  RunState state_;
  const size_t known_;  // steps that are answers already
  size_t asked_ = 0;
  std::shared_ptr<Stage> last_;
  std::shared_ptr<Stage> first_made_;
  const bool is_checked_;
  RunStatistics* const statistics_;
};

}  // namespace tartan::api
