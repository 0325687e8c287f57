// SPDX-License-Identifier: Apache-2.0
// What a trainer has on the device: its programs by the sizes of batches, and what they are bound
// to. Internal to trainer.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/memory/training_memory.h"
#include "frontend/train/step_profile.h"
#include "frontend/train/train_step.h"
#include "frontend/train/trainer_options.h"

namespace tartan::train {

// Before the names of parameters in those of states.
inline constexpr char kParameterState[] = "parameter/";

// The value as another type, of the same elements.
HostTensor Converted(const HostTensor& value, const TensorShape& shape);
// Batches of the same sizes have the same key.
std::string KeyOf(const BatchShapes& shapes);

struct TrainerPrograms {
  // A program, and how it is fed.
  struct Program {
    std::unique_ptr<api::DeviceProgram> program;
    std::vector<api::DeviceTensor> states;  // that it is bound to
    std::optional<size_t> turn;             // the one that the loss alone decides
    int seeds = 0;
    std::optional<int64_t> classes;
  };

  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<const api::Device> device;
  TrainerOptions options;
  StepPlan plan;
  std::vector<Parameter> parameters;
  std::map<std::string, api::DeviceTensor> tensors;  // by the name of a state
  api::SharedScratch scratch;                        // of all programs
  std::map<std::string, Program> steps;              // by the sizes of a batch
  std::map<std::string, Program> evaluations;
  Program apply;
  int64_t batches = 0;  // started
  int64_t updates = 0;  // started
  int64_t unread = 0;   // batches since sums were read
  int64_t failed_step = 0;
  double compile_ms = 0;
  StepProfile profile;

  absl::StatusOr<BatchShapes> ShapesOf(const api::NamedTensors& inputs,
                                       const HostTensor& target) const;
  static std::vector<HostTensor> ValuesOf(const BatchShapes& shapes,
                                          const api::NamedTensors& inputs,
                                          const HostTensor& target);
  absl::StatusOr<Program> Make(StepGraph graph, absl::string_view name);
  // Compiles a program whose states are known, so that all programs keep to the budget.
  absl::Status Compile(StepGraph graph, absl::string_view name, Program* made);
  // To its states and the scratch of all: where that is too small, they share one that is not.
  absl::Status Bind(Program* made);
  // Those that are compiled: steps, evaluations, the update.
  std::vector<const Program*> All() const;
  // Bytes for what is there during runs alone: what all programs share, or what each has; with one
  // that is not among them yet.
  int64_t ScratchBytes(const Program* more = nullptr) const;
  // What is on the device, with a program that is not among them yet.
  TrainingMemory Memory(const Program* more = nullptr) const;
  // The step for batches of these sizes, compiled if it is new.
  absl::StatusOr<const Program*> StepFor(const api::NamedTensors& inputs, const HostTensor& target);
  // Starts the program of a step.
  absl::Status Start(api::DeviceProgram& step, const std::vector<HostTensor>& values);
  absl::StatusOr<api::DeviceTensor> MakeState(const StateSpec& spec) const;
  HostTensor Numbers(double rate) const;
  HostTensor Seed(int64_t batch) const;
};

}  // namespace tartan::train
