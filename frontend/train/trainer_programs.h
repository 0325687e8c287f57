// SPDX-License-Identifier: Apache-2.0
// The programs of a trainer on the device, by batch shape, and the tensors they are bound to.
// Internal to trainer.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/memory/training_memory.h"
#include "frontend/train/ranks/gradient_arena.h"
#include "frontend/train/ranks/shards.h"
#include "frontend/train/ranks/update_spans.h"
#include "frontend/train/step_profile.h"
#include "frontend/train/train_step.h"
#include "frontend/train/trainer_options.h"

namespace tartan::train {

// Prefix of the names of states that are parameters.
inline constexpr char kParameterState[] = "parameter/";
inline constexpr char kUpdateName[] = "update";  // of the program that applies gradients

// The value converted to another type with the same shape.
HostTensor Converted(const HostTensor& value, const TensorShape& shape);
// Equal for equal batch shapes.
std::string KeyOf(const BatchShapes& shapes);

struct TrainerPrograms {
  // A program and its inputs.
  struct Program {
    std::unique_ptr<api::DeviceProgram> program;
    std::vector<api::DeviceTensor> states;  // bound states
    // index of a state that depends on the loss only (for DeviceProgram::memory)
    std::optional<size_t> turn;
    std::shared_ptr<api::DeviceQueue> queue;  // its own; null: the device's queue, shared scratch
    int seeds = 0;
    std::optional<int64_t> classes;
    // If a rank keeps a part of the gradients: the states that are gradients, with the tensor of
    // the layout, and the places of the buckets.
    std::vector<std::pair<size_t, size_t>> gradients;
    ArenaPlan arena;
    std::vector<GradientBucket> buckets;  // empty: not bound
    GatherPlan gathers;                   // if a rank keeps a part of the parameters
    std::vector<int64_t> exchanges;       // of joint statistics, in the order of the kernels

    bool HasBuckets() const { return !gradients.empty() || !gathers.states.empty(); }
    bool IsBound() const { return !buckets.empty() || !gathers.buckets.empty(); }
    // Frees the memory of the buckets. Requires that the program is not bound.
    void ForgetBuckets();
  };

  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<const api::Device> device;
  TrainerOptions options;
  StepPlan plan;
  std::vector<Parameter> parameters;
  std::map<std::string, api::DeviceTensor> tensors;  // tensors by state name
  api::SharedScratch scratch;                        // shared by all programs
  std::map<std::string, Program> steps;              // programs by batch shape
  std::map<std::string, Program> evaluations;
  Program apply;
  Program norms;                                     // of a part of the gradients, before `apply`
  std::vector<GradientBucket> joined;                // the tensors that the ranks add
  std::vector<std::set<std::string>> joined_states;  // the states in each of them
  std::optional<Shards> shards;                      // if ranks keep parts of the state
  // The joined parameters of the update program, and their states. Empty: it has all parameters.
  std::vector<Parameter> updated;
  std::map<std::string, api::DeviceTensor> spans;
  std::vector<size_t> last_buckets;  // of the gradients of each, if updates begin early
  // The exchanges of joint statistics: parts of this rank, and wholes.
  std::vector<GradientBucket> statistics;
  std::vector<int64_t> exchange_order;             // of the last step, on all ranks
  std::vector<hal::EventPtr> computed_statistics;  // in this order
  std::vector<hal::EventPtr> gathered_statistics;
  bool separates_launches = false;  // compiles kernels that depend on each other as launches
  int64_t batches = 0;              // number started
  int64_t updates = 0;              // number started
  int64_t unread = 0;               // batches since the sums were last read
  int64_t failed_step = 0;
  double compile_ms = 0;
  StepProfile profile;

  // Checks that the target has classes of the program's loss, if it has class indices.
  absl::Status CheckTarget(const Program& program, const HostTensor& target) const;
  absl::StatusOr<BatchShapes> ShapesOf(const api::NamedTensors& inputs,
                                       const HostTensor& target) const;
  static std::vector<HostTensor> ValuesOf(const BatchShapes& shapes,
                                          const api::NamedTensors& inputs,
                                          const HostTensor& target);
  absl::StatusOr<Program> Make(StepGraph graph, absl::string_view name);
  // Compiles a program whose states are known, such that all programs stay within the budget.
  absl::Status Compile(StepGraph graph, absl::string_view name, Program* made);
  // Binds a program to its states and the shared scratch, all programs if that becomes larger.
  absl::Status Bind(Program* made);
  // All compiled programs: steps, evaluations, the update.
  std::vector<const Program*> All() const;
  // Bytes of scratch, shared by all programs or in total; `more` is a program that is not in the
  // maps yet.
  int64_t ScratchBytes(const Program* more = nullptr) const;
  // Device memory in use; `more` is a program that is not in the maps yet.
  TrainingMemory Memory(const Program* more = nullptr) const;
  // The step for this batch shape, compiled if it is new.
  absl::StatusOr<Program*> StepFor(const api::NamedTensors& inputs, const HostTensor& target);
  absl::Status MakeStep(const BatchShapes& shapes, Program* step);
  // Starts the program of a step.
  absl::Status Start(Program& step, const std::vector<HostTensor>& values);
  // The value that a state begins with; nullopt: zeros.
  absl::StatusOr<std::optional<HostTensor>> FirstValue(const StateSpec& spec);
  absl::StatusOr<api::DeviceTensor> MakeState(const StateSpec& spec);
  // True if checkpoints have the state, and it is one tensor of this process.
  bool IsSaved(absl::string_view state) const;
  // Counts a batch that was started, by `step` unless it is null. Every `accumulate` batches
  // applies the gradients, if that is a program of its own.
  absl::Status CountBatch(double rate, const Program* step);

  // --- Of a run of several ranks: trainer_ranks.cc.
  GradientExchange* exchange() const { return options.exchange.get(); }
  // Makes the tensors that ranks add, in the order of the backward pass, unless they exist.
  absl::Status MakeJoinedSums();
  // Makes sums of parameters with equal factors, in buffers of at most `most` bytes.
  absl::Status MakeSumsOf(const std::vector<const Parameter*>& summed, int64_t most, bool is_last);
  absl::StatusOr<std::vector<SumBuffer>> MakeSumBuffers(absl::Span<const StateSpec> specs,
                                                        int64_t most);
  int64_t BucketBytes() const;
  // `begins`: with the tensor begins a bucket, also if the last one is not full.
  void AddToBucket(const std::string& state, const api::DeviceTensor& tensor, bool begins);
  // Moves states of these parameters to buffers with the layout of `sums` (ranks/update_spans.h).
  absl::Status JoinUpdates(absl::Span<const Parameter* const> summed,
                           absl::Span<const int64_t> positions, const hal::BufferPtr& sums);
  absl::Status MoveState(absl::string_view kind, const Parameter& parameter,
                         const hal::BufferPtr& whole, int64_t offset);
  // Finds the exchanges of joint statistics, and returns their groups of states: for each the own
  // value, then the values of all. Unimplemented if a kernel needs both.
  absl::StatusOr<std::vector<evaluator::StateGroup>> FindExchanges(
      absl::Span<const StateSpec> specs, Program* step);
  // Before each step: all ranks must have one order. Null: this rank has no examples.
  absl::Status AgreeOnExchanges(const Program* step);
  // Starts each exchange after its own value is computed, and waits before the first use of all.
  evaluator::StateHooks ExchangeHooks();
  absl::Status StartExchanges();
  // The exchanges of a step of this rank without examples.
  absl::Status ExchangeWithoutExamples();
  // Makes a program report when gradients of buckets are complete, and when it needs parameters.
  absl::Status WatchBuckets(absl::Span<const StateSpec> specs, Program* step);
  // Adds gradients of all ranks while `step`, which was started, goes on. Null: this rank had no
  // examples.
  absl::Status AddOverRanks(const Program* step);
  // Replaces running statistics, which each rank updates by its own examples, by their means.
  absl::Status AverageStatistics();
  // Adds the numbers of Read over the ranks: `sums` as of Sum, and the skipped steps.
  absl::Status AddProgress(std::vector<double>* sums, int64_t* skipped);
  // True for sums of gradients, which checkpoints of several ranks do not have.
  static bool IsJoinedSum(absl::string_view state);

  // --- The update by the gradients of all ranks: sharded/trainer_updates.cc.
  // True if parameters are updated as soon as their sums arrive, while the backward pass goes on.
  bool UpdatesEarly() const;
  absl::Status MakeUpdate();
  absl::Status WatchUpdate(absl::Span<const StateSpec> specs);
  // Applies the gradients of the last batches. Null: as in AddOverRanks.
  absl::Status Update(double rate, const Program* step);

  // --- Of ranks that keep parts of the state: sharded/trainer_shards.cc.
  bool KeepsPartsApart() const;
  // Makes parameters and sums of gradients, and their parts. Does nothing if they exist.
  absl::Status MakeShards();
  absl::Status AllocateShards();
  absl::Status MakeShardBuckets();
  absl::Status MakeSegments();
  absl::Status MakeWholeTensors();
  // Gives parameters their first values.
  absl::Status AssignParameters();
  // Gives this rank's part of a divided state the values of the whole.
  absl::Status AssignSegments(absl::string_view kind, size_t tensor, const HostTensor& value);
  // Allocates zeros that ranks exchange.
  absl::StatusOr<hal::BufferPtr> AllocateZeros(int64_t bytes) const;
  absl::Status FillWithZeros(const MemoryRange& range) const;
  // The value that a state begins with, from a checkpoint; nullopt: none.
  std::optional<HostTensor> TakeRestored(const StateSpec& spec);
  // Applies this rank's part of the gradients, and gathers the parameters of all ranks.
  absl::Status ApplyShard(double rate);
  absl::StatusOr<HostTensor> ReadSegment(absl::string_view kind, size_t segment);
  absl::Status GatherKind(absl::string_view kind, std::map<std::string, HostTensor>* states);
  // The divided states of all ranks, whole. All ranks call it.
  absl::Status GatherStates(std::map<std::string, HostTensor>* states);
  // Replaces a whole state, of which this rank keeps a part or all.
  absl::Status RestoreShard(const std::string& name, const HostTensor& value);

  // --- Of ranks that keep a part of the gradients: sharded/trainer_gradients.cc.
  bool PassesGradients() const;
  // Adds a state to the buckets of its program, which have no memory yet. False for other states.
  bool AddToBuckets(absl::string_view state, Program* made) const;
  // Plans the memory of the gradients and of the gathered parameters of a compiled program.
  void PlaceBuckets(Program* made);
  // Makes the tensors of these plans.
  absl::Status BindBuckets(Program* made);
  // The states of a program that are tensors of buckets.
  absl::Status BindStates(absl::Span<const std::pair<size_t, size_t>> states,
                          const BucketMemory& memory, const MemoryPlaces& places, Program* made);
  // Allocates the memory that all plans need, also the plan of `more`, and binds programs that are
  // not bound to it.
  absl::Status FitArenas(const Program& more);
  // Prepares, gathers and reduces the buckets of a program. `step` outlives its program.
  evaluator::StateHooks HooksOf(const Program& step);
  // Waits for the buckets of the last step.
  absl::Status FinishReductions();
  // Before a step adds to a bucket: waits for its memory, and makes zeros.
  absl::Status BeginSum(size_t bucket, const Program& step, hal::Queue& queue);
  // Starts to add the buckets whose gradients are computed, in their order.
  absl::Status StartReductions(const Program& step);
  // The reductions and gathers of a step of this rank without examples.
  absl::Status ReduceWithoutExamples();

  // --- Of ranks that keep a part of the parameters: sharded/trainer_parameters.cc.
  bool DividesParameters() const;
  // Plans the gathers of a compiled program. `gradients`: the uses of their buckets.
  void PlaceGathers(Program* made, absl::Span<const BucketUse> gradients);
  // Plans their memory for an order of the operations.
  void PlaceInOrder(GatherOrder order, GatherPlan* gathers);
  absl::Status BindGathers(Program* made);
  // The groups of states that gathers fill, by gather.
  std::vector<evaluator::StateGroup> GroupsOf(const GatherPlan& gathers) const;
  // All ranks agree on the order of their operations, before each program that gathers. Null: this
  // rank has no examples.
  absl::Status BeginGathers(Program* program);
  // Starts a program and all its gathers.
  absl::Status StartWithGathers(Program& program, const std::vector<HostTensor>& values);
  // The memory in which a rank without examples gathers a bucket.
  MemoryRange AnyPlaceOf(size_t bucket) const;
  // Starts the gathers before `end`. Null: this rank has no examples.
  absl::Status GatherUntil(size_t end, const GatherPlan* gathers);
  // Waits for the parameters of a gather, and starts the next one.
  absl::Status WaitForGather(size_t gather, const GatherPlan& gathers);
  // Starts the gathers that precede the reduction of this bucket.
  absl::Status GatherBeforeSum(size_t bucket, const GatherPlan* gathers);

  HostTensor Numbers(double rate) const;
  HostTensor Seed(int64_t batch) const;
};

}  // namespace tartan::train
