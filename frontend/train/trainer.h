// SPDX-License-Identifier: Apache-2.0
// Trains a model: forward, loss, gradients and updates of all parameters are one program on the
// device, compiled once for the sizes of a batch; parameters stay there from step to step.
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
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/loss.h"
#include "frontend/train/memory/training_memory.h"
#include "frontend/train/optimizer.h"
#include "frontend/train/parameters.h"
#include "frontend/train/trainer_options.h"

namespace tartan::train {

struct TrainerPrograms;  // trainer_programs.h

// Since it was read last.
struct Progress {
  int64_t steps = 0;
  double loss = 0;                 // mean over the examples, by how much they count
  std::optional<double> accuracy;  // share of the rows whose greatest score is at their class
  // Where the loss is scaled: its factor now, and how many updates were left out, over all, as
  // gradients were no finite numbers.
  std::optional<double> loss_scale;
  int64_t left_out = 0;
};

struct Evaluation {
  double numerator = 0;  // of the loss: sums of several batches may be added
  double denominator = 0;
  HostTensor output;  // what the loss saw, float32
};

// Everything that decides how training goes on, but for the data.
struct TrainerState {
  int64_t step = 0;                           // updates that were made
  std::map<std::string, HostTensor> tensors;  // "parameter/w", "square/w" …
};

// Used by one thread at a time.
class Trainer {
 public:
  // `model` was loaded with parameters_as_inputs. InvalidArgument for options out of their ranges,
  // names that the model does not have, and where nothing is left to train.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<const api::Device> device,
      TrainerOptions options);
  ~Trainer();

  const std::vector<Parameter>& parameters() const;
  const std::string& loss_output() const;  // the value that the loss sees

  // How many classes the loss tells apart on such a batch; nothing for other losses. Compiles as
  // Step does.
  absl::StatusOr<std::optional<int64_t>> CountClasses(const api::NamedTensors& inputs,
                                                      const HostTensor& target);

  // Compiles the step for batches of these sizes where it is not yet, once those that were started
  // have ended. Returns the milliseconds that it took, without that wait; 0 where it is there.
  absl::StatusOr<double> Prepare(const api::NamedTensors& inputs, const HostTensor& target);
  // Starts a step on one batch: the model's inputs by name, the target (undefined shape where the
  // loss needs none). The first of each sizes compiles. Where a loss is no finite number, nothing
  // is changed from that step on, and Read says so.
  absl::Status Step(const api::NamedTensors& inputs, const HostTensor& target, double rate);
  // Updates, and batches, that were started, over all.
  int64_t step() const;
  int64_t batches() const;

  // Waits for the steps that were started. OutOfRange, naming the first of them, where the loss of
  // a step was no finite number: parameters are as they were before it. OutOfRange, too, where
  // gradients stay so whatever a loss is scaled by (precision.h).
  absl::StatusOr<Progress> Read();

  // Which step Read found (counted from 1, in batches); 0: none.
  int64_t failed_step() const;
  // Of the batch of that step: the first tensor, by the order of computation, that has an element
  // which is no finite number, in words: "the input 'x'", "'h3', which exp (Exp) makes,".
  // NotFound where all are finite.
  absl::StatusOr<std::string> FindNonFinite(const api::NamedTensors& inputs,
                                            const HostTensor& target);

  // Of one batch, with dropout off and running statistics.
  absl::StatusOr<Evaluation> Evaluate(const api::NamedTensors& inputs, const HostTensor& target);

  // The values of parameters and running statistics that training changes, by initialiser.
  absl::StatusOr<std::map<std::string, HostTensor>> Values();
  absl::StatusOr<TrainerState> Save();
  // InvalidArgument, naming the tensor, for a state of another model or other options.
  absl::Status Restore(const TrainerState& state);

  using Memory = TrainingMemory;
  // What training has on the device. Programs that run in turns share one scratch.
  Memory memory() const;
  double compile_ms() const;
  int64_t kernels() const;  // launched in a step
  // Kernels of a step with their median times, where steps are profiled; of accumulated gradients
  // without their application.
  std::vector<api::KernelProfile> Profile() const;

 private:
  explicit Trainer(std::unique_ptr<TrainerPrograms> programs);
  const std::unique_ptr<TrainerPrograms> programs_;
};

}  // namespace tartan::train
