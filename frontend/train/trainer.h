// SPDX-License-Identifier: Apache-2.0
// Trains a model: forward pass, loss, gradients and updates of all parameters are one program on
// the device, compiled once per batch shape. Parameters stay on the device between steps.
//
//   onnx::LoadOptions load;
//   load.parameters_as_inputs = true;
//   TARTAN_ASSIGN_OR_RETURN(const auto model, onnx::OnnxModel::Load("model.onnx", load));
//   TrainerOptions options;   // AdamW, softmax cross-entropy of the model's first output
//   TARTAN_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(model, device, options));
//   for (…) TARTAN_RETURN_IF_ERROR(trainer->Step({{"x", images}}, classes, /*rate=*/1e-3));
//   TARTAN_ASSIGN_OR_RETURN(const Progress progress, trainer->Read());
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/data/batch_loader.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/graph/loss.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/memory/training_memory.h"
#include "frontend/train/trainer_options.h"

namespace tartan::train {

struct TrainerPrograms;  // trainer_programs.h

// Progress since the last read.
struct Progress {
  int64_t steps = 0;
  double loss = 0;                 // weighted mean over the examples
  double weight = 0;               // sum of their weights
  std::optional<double> accuracy;  // share of rows whose class has the maximum score
  double rows = 0;                 // number of these rows
  // Set if the loss is scaled: the current scale, and the total number of updates skipped because
  // of non-finite gradients.
  std::optional<double> loss_scale;
  int64_t left_out = 0;

  // Adds the progress of later steps.
  void Add(const Progress& later);
};

struct Evaluation {
  double numerator = 0;  // sum of the loss terms: batches can be added
  double denominator = 0;
  HostTensor output;               // the value that the loss was applied to, float32
  std::optional<int64_t> classes;  // as of CountClasses
};

// The complete training state, except the data.
struct TrainerState {
  int64_t step = 0;                           // number of updates made
  int64_t batches = 0;                        // number of batches taken
  std::map<std::string, HostTensor> tensors;  // "parameter/w", "square/w" …
};

// Used by one thread at a time.
class Trainer {
 public:
  // `model` was loaded with parameters_as_inputs. InvalidArgument for options out of range, unknown
  // names, and if nothing is left to train.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<const api::Device> device,
      TrainerOptions options);
  ~Trainer();

  const std::vector<Parameter>& parameters() const;
  const std::string& loss_output() const;  // the value that the loss is applied to

  // The number of classes of the loss for such a batch; nullopt for other losses. Compiles like
  // Step.
  absl::StatusOr<std::optional<int64_t>> CountClasses(const api::NamedTensors& inputs,
                                                      const HostTensor& target);

  // Memory for batches, which the device copies from fastest (hal::Device::AllocateHost).
  data::BatchMemory AllocateBatch(int64_t bytes) const;

  // Compiles the step for these batch shapes if necessary, after the started steps have ended.
  // Returns the compile time in ms, without the wait; 0 if it was compiled already.
  absl::StatusOr<double> Prepare(const api::NamedTensors& inputs, const HostTensor& target);
  // Starts a step on one batch: the model's inputs by name, and the target (undefined if the loss
  // needs none). The first step of a batch shape compiles. If a loss is not finite, nothing changes
  // from that step on, and Read reports it.
  absl::Status Step(const api::NamedTensors& inputs, const HostTensor& target, double rate);
  // Counts a step on a batch that has no example for this rank.
  absl::Status StepWithoutExamples(double rate);
  // Total number of updates, and of batches, that were started.
  int64_t step() const;
  int64_t batches() const;

  // Waits for the started steps. OutOfRange, naming the first such step, if a loss was not finite:
  // parameters are as before that step. OutOfRange also if gradients stay non-finite at every loss
  // scale (precision.h).
  absl::StatusOr<Progress> Read();

  // The step that Read reported (in batches, from 1); 0: none.
  int64_t failed_step() const;
  // Finds, for the batch of that step, the first tensor in computation order with a non-finite
  // element. Returns a description: "the input 'x'", "'h3', which exp (Exp) makes,". NotFound if
  // all are finite.
  absl::StatusOr<std::string> FindNonFinite(const api::NamedTensors& inputs,
                                            const HostTensor& target);

  // True if parts of the state are not within whole tensors, for drivers whose sub-buffers must not
  // overlap: the same on all ranks.
  bool KeepsPartsApart() const;
  // True if each rank has a part of the parameters: all ranks then evaluate the same batches.
  bool DividesParameters() const;
  // Evaluates one batch, with dropout off and running statistics.
  absl::StatusOr<Evaluation> Evaluate(const api::NamedTensors& inputs, const HostTensor& target);

  // The current values of trained parameters and running statistics, by initialiser. Low-rank
  // factors are merged with their weights. If ranks divide the parameters, values are those of the
  // last GatherValues.
  absl::StatusOr<std::map<std::string, HostTensor>> Values();
  // Gathers the parameters that ranks divide in the memory of the host. All ranks call it.
  absl::Status GatherValues();
  // Replaces running statistics by their means over the ranks, each of which updates them by its
  // own examples. Call it on all ranks before Evaluate, Values and Save. Does nothing in one
  // process.
  absl::Status ShareStatistics();
  // All ranks call it if they keep parts of the state.
  absl::StatusOr<TrainerState> Save();
  // InvalidArgument, naming the tensor, for a state of another model or other options.
  absl::Status Restore(const TrainerState& state);

  using Memory = TrainingMemory;
  // Device memory of training. Programs that run alternately share scratch memory.
  Memory memory() const;
  double compile_ms() const;
  int64_t kernels() const;  // launches per step
  // Kernels of a step with their median times, if steps are profiled; for accumulated gradients
  // without the program that applies them.
  std::vector<api::KernelProfile> Profile() const;

 private:
  explicit Trainer(std::unique_ptr<TrainerPrograms> programs);
  const std::unique_ptr<TrainerPrograms> programs_;
};

}  // namespace tartan::train
