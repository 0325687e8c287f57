// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/train/graph/lora.h"
#include "frontend/train/graph/sparse_rows.h"
#include "frontend/train/initialize.h"
#include "frontend/train/loss_output.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// The mean of two groups of these weights.
double MeanOf(double first, double first_weight, double second, double second_weight) {
  if (first_weight == 0) return second;
  if (second_weight == 0) return first;
  return (first * first_weight + second * second_weight) / (first_weight + second_weight);
}

}  // namespace

void Progress::Add(const Progress& later) {
  steps += later.steps;
  loss = MeanOf(loss, weight, later.loss, later.weight);
  weight += later.weight;
  if (later.accuracy.has_value())
    accuracy = MeanOf(accuracy.value_or(0), rows, *later.accuracy, later.rows);
  rows += later.rows;
  loss_scale = later.loss_scale;
  left_out = later.left_out;
}

Trainer::Trainer(std::unique_ptr<TrainerPrograms> programs) : programs_(std::move(programs)) {}
Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<const api::Device> device,
    TrainerOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Trainer>> {
    TARTAN_RETURN_IF_ERROR(CheckTrainerOptions(options));
    if (model->outputs().empty()) return absl::InvalidArgumentError("the model has no outputs");
    auto programs = std::make_unique<TrainerPrograms>();
    TARTAN_ASSIGN_OR_RETURN(programs->parameters, FindParameters(*model, options.rules));
    TARTAN_RETURN_IF_ERROR(AddFactors(*model, options.rules, &programs->parameters));
    programs->plan.mode = options.mode;
    programs->plan.mode.batch_norm |= options.sync_batch_norm;
    if (options.sync_batch_norm && options.exchange != nullptr)
      programs->plan.mode.joint_ranks = options.exchange->ranks();
    programs->plan.augment = options.augment;
    programs->plan.loss = options.loss;
    programs->plan.output = LossOutput(*model, options.loss, options.output);
    programs->plan.optimizer = options.optimizer;
    programs->plan.clip_norm = options.clip_norm;
    programs->plan.clip_value = options.clip_value;
    programs->plan.straight_through = options.straight_through;
    programs->plan.joins = options.exchange != nullptr;
    programs->plan.shards = options.shard != Shard::kNone;
    programs->plan.accumulates = options.accumulate > 1 || programs->plan.joins;
    programs->plan.replaces_sums = programs->plan.joins && options.accumulate == 1;
    programs->plan.sum_type = options.gradient_type;
    programs->plan.sparse_embeddings = options.sparse_embeddings;
    programs->plan.precision = options.precision;
    if (options.precision == Precision::kFloat16) programs->plan.loss_scale = options.loss_scale;
    programs->model = std::move(model);
    // Frozen parameters are constants, and kInt8 would quantise matmuls by them, which have no
    // derivatives.
    if (device->precision() == tartan::Precision::kInt8) {
      device = device->WithPrecision(tartan::Precision::kFloat32);
    }
    programs->device = std::move(device);
    programs->options = std::move(options);
    if (programs->plan.shards) programs->shards.emplace();
    if (programs->plan.joins) TARTAN_RETURN_IF_ERROR(programs->exchange()->Open(*programs->device));
    return std::unique_ptr<Trainer>(new Trainer(std::move(programs)));
  });
}

const std::vector<Parameter>& Trainer::parameters() const { return programs_->parameters; }
const std::string& Trainer::loss_output() const { return programs_->plan.output; }
int64_t Trainer::step() const { return programs_->updates; }
int64_t Trainer::batches() const { return programs_->batches; }
double Trainer::compile_ms() const { return programs_->compile_ms; }
std::vector<api::KernelProfile> Trainer::Profile() const { return programs_->profile.Medians(); }

absl::StatusOr<std::optional<int64_t>> Trainer::CountClasses(const api::NamedTensors& inputs,
                                                             const HostTensor& target) {
  TARTAN_ASSIGN_OR_RETURN(const TrainerPrograms::Program* step, programs_->StepFor(inputs, target));
  return step->classes;
}

data::BatchMemory Trainer::AllocateBatch(int64_t bytes) const {
  const auto memory = programs_->device->hal()->AllocateHost(bytes);
  return {memory.bytes, memory.owner};
}

absl::StatusOr<double> Trainer::Prepare(const api::NamedTensors& inputs, const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<double> {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, programs_->ShapesOf(inputs, target));
    const auto known = programs_->steps.find(KeyOf(shapes));
    if (known != programs_->steps.end() && known->second.program != nullptr) return 0;
    const auto skipped = programs_->tensors.find(kSkipped);
    if (skipped != programs_->tensors.end())
      TARTAN_RETURN_IF_ERROR(skipped->second.ToHost().status());
    const Clock::time_point start = Clock::now();
    TARTAN_RETURN_IF_ERROR(programs_->StepFor(inputs, target).status());
    return MillisecondsSince(start);
  });
}

absl::Status Trainer::Step(const api::NamedTensors& inputs, const HostTensor& target, double rate) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, programs_->ShapesOf(inputs, target));
    TARTAN_ASSIGN_OR_RETURN(TrainerPrograms::Program * step, programs_->StepFor(inputs, target));
    TARTAN_RETURN_IF_ERROR(programs_->CheckTarget(*step, target));
    std::vector<HostTensor> values = TrainerPrograms::ValuesOf(shapes, inputs, target);
    values.push_back(programs_->Numbers(rate));
    values.insert(values.end(), static_cast<size_t>(step->seeds),
                  programs_->Seed(programs_->batches));
    TARTAN_RETURN_IF_ERROR(programs_->Start(*step, values));
    return programs_->CountBatch(rate, step);
  });
}

absl::Status Trainer::StepWithoutExamples(double rate) {
  return CatchOutOfMemory([&] { return programs_->CountBatch(rate, nullptr); });
}

absl::StatusOr<Progress> Trainer::Read() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Progress> {
    Progress progress;
    progress.steps = std::exchange(programs_->unread, 0);
    std::vector<double> values;
    int64_t count = 0;
    const auto sums = programs_->tensors.find(kSums);
    if (sums != programs_->tensors.end()) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor read, sums->second.ToHost());
      TARTAN_RETURN_IF_ERROR(sums->second.Assign(HostTensor::Zeros(read.shape())));
      values = read.ToDoubles();
      TARTAN_ASSIGN_OR_RETURN(const HostTensor skipped, programs_->tensors.at(kSkipped).ToHost());
      count = skipped.GetInt(0);
    }
    if (programs_->plan.joins) TARTAN_RETURN_IF_ERROR(programs_->AddProgress(&values, &count));
    if (values.empty()) return progress;
    if (count > 0) {
      programs_->failed_step = programs_->batches - count + 1;
      return absl::OutOfRangeError(
          absl::StrCat("the loss of step ", programs_->failed_step,
                       " is not a finite number; parameters are as they were before it"));
    }
    if (programs_->plan.loss_scale.has_value()) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor scale, programs_->tensors.at(kScaleName).ToHost());
      const std::vector<double> state = scale.ToDoubles();
      TARTAN_RETURN_IF_ERROR(CheckScale(*programs_->plan.loss_scale, state));
      progress.loss_scale = state[kScale];
      progress.left_out = static_cast<int64_t>(state[kSkippedUpdates]);
    }
    progress.weight = values[kDenominator];
    progress.rows = values[kCounted];
    if (progress.weight > 0) progress.loss = values[kNumerator] / progress.weight;
    if (progress.rows > 0) progress.accuracy = values[kCorrect] / progress.rows;
    return progress;
  });
}

int64_t Trainer::failed_step() const { return programs_->failed_step; }

absl::StatusOr<std::string> Trainer::FindNonFinite(const api::NamedTensors& inputs,
                                                   const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    if (programs_->DividesParameters())
      return absl::UnimplementedError("parameters that ranks divide cannot be searched");
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, programs_->ShapesOf(inputs, target));
    std::vector<std::string> names;
    TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildSearch(*programs_->model, &programs_->parameters,
                                                         programs_->plan, shapes, &names));
    TARTAN_ASSIGN_OR_RETURN(const TrainerPrograms::Program search,
                            programs_->Make(std::move(graph), "search"));
    std::vector<HostTensor> values = TrainerPrograms::ValuesOf(shapes, inputs, target);
    values.insert(values.end(), static_cast<size_t>(search.seeds),
                  programs_->Seed(programs_->failed_step - 1));
    TARTAN_RETURN_IF_ERROR(search.program->Start(values));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> counts, search.program->Outputs());
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i].GetInt(0) != 0) return names[i];
    }
    return absl::NotFoundError("all values are finite");
  });
}

absl::StatusOr<Evaluation> Trainer::Evaluate(const api::NamedTensors& inputs,
                                             const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Evaluation> {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, programs_->ShapesOf(inputs, target));
    TrainerPrograms::Program& evaluation = programs_->evaluations[KeyOf(shapes)];
    const bool divides = programs_->DividesParameters();
    if (evaluation.program == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          StepGraph graph,
          BuildEvaluation(*programs_->model, &programs_->parameters, programs_->plan, shapes));
      const std::optional<int64_t> classes = graph.classes;
      const std::vector<StateSpec> specs = graph.specs;
      TARTAN_ASSIGN_OR_RETURN(evaluation, programs_->Make(std::move(graph), "evaluation"));
      if (divides) TARTAN_RETURN_IF_ERROR(programs_->WatchBuckets(specs, &evaluation));
      evaluation.classes = classes;
    }
    TARTAN_RETURN_IF_ERROR(programs_->CheckTarget(evaluation, target));
    const std::vector<HostTensor> values = TrainerPrograms::ValuesOf(shapes, inputs, target);
    TARTAN_RETURN_IF_ERROR(divides ? programs_->StartWithGathers(evaluation, values)
                                   : evaluation.program->Start(values));
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, evaluation.program->Outputs());
    Evaluation result;
    for (const double value : outputs[0].ToDoubles()) result.numerator += value;
    for (const double value : outputs[1].ToDoubles()) result.denominator += value;
    result.output = std::move(outputs[2]);
    result.classes = evaluation.classes;
    return result;
  });
}

absl::StatusOr<std::map<std::string, HostTensor>> Trainer::Values() {
  const auto read = [&](const std::string& name) -> absl::StatusOr<HostTensor> {
    const std::string state = absl::StrCat(kParameterState, name);
    const auto found = programs_->tensors.find(state);
    if (found != programs_->tensors.end()) return found->second.ToHost();
    const auto gathered = programs_->shards->values.find(state);
    if (gathered != programs_->shards->values.end()) return gathered->second;
    return programs_->shards->restored.at(state);
  };
  const auto is_known = [&](const std::string& name) {
    const std::string state = absl::StrCat(kParameterState, name);
    return programs_->tensors.count(state) > 0 ||
           (programs_->plan.shards && (programs_->shards->values.count(state) > 0 ||
                                       programs_->shards->restored.count(state) > 0));
  };
  std::map<std::string, HostTensor> values;
  for (const Parameter& parameter : programs_->parameters) {
    if (parameter.is_factor()) continue;
    if (parameter.lora_rank > 0) {
      if (!is_known(FactorA(parameter))) continue;
      TARTAN_ASSIGN_OR_RETURN(const HostTensor a, read(FactorA(parameter)));
      TARTAN_ASSIGN_OR_RETURN(const HostTensor b, read(FactorB(parameter)));
      values[parameter.name] =
          Merged(*programs_->model->Initializer(parameter.name), parameter, a, b);
    } else if (is_known(parameter.name)) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor value, read(parameter.name));
      values[parameter.name] = Converted(value, parameter.shape);
    } else if (programs_->options.initialize && parameter.is_trained) {
      values[parameter.name] = InitialValue(parameter, programs_->options.seed);
    }
  }
  return values;
}

bool Trainer::KeepsPartsApart() const { return programs_->KeepsPartsApart(); }
bool Trainer::DividesParameters() const { return programs_->DividesParameters(); }

absl::Status Trainer::GatherValues() {
  if (!DividesParameters()) return absl::OkStatus();
  return CatchOutOfMemory(
      [&] { return programs_->GatherKind("parameter", &programs_->shards->values); });
}

absl::Status Trainer::ShareStatistics() {
  if (!programs_->plan.joins) return absl::OkStatus();
  return CatchOutOfMemory([&] { return programs_->AverageStatistics(); });
}

absl::StatusOr<TrainerState> Trainer::Save() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TrainerState> {
    TrainerState state;
    state.step = programs_->updates;
    state.batches = programs_->batches;
    for (const auto& [name, tensor] : programs_->tensors) {
      if (!programs_->IsSaved(name)) continue;
      TARTAN_ASSIGN_OR_RETURN(state.tensors[name], tensor.ToHost());
    }
    if (programs_->plan.shards) TARTAN_RETURN_IF_ERROR(programs_->GatherStates(&state.tensors));
    return state;
  });
}

absl::Status Trainer::Restore(const TrainerState& state) {
  return CatchOutOfMemory([&]() -> absl::Status {
    if (programs_->plan.joins && state.batches % programs_->options.accumulate != 0) {
      return absl::InvalidArgumentError(
          "the state was saved between two updates: only one process can continue from it");
    }
    for (const auto& [name, value] : state.tensors) {
      if (programs_->plan.joins && TrainerPrograms::IsJoinedSum(name)) continue;
      const size_t slash = name.find('/');
      const std::string parameter = slash == std::string::npos ? "" : name.substr(slash + 1);
      const auto known = std::find_if(programs_->parameters.begin(), programs_->parameters.end(),
                                      [&](const Parameter& p) { return p.name == parameter; });
      const bool is_scale = name == kScaleName && programs_->plan.loss_scale.has_value() &&
                            value.shape() == TensorShape{DataType::kFloat32, {kScaleCount}};
      if (!is_scale &&
          (known == programs_->parameters.end() || known->shape.dims != value.shape().dims)) {
        return absl::InvalidArgumentError(absl::StrCat("the state has '", name, "' ",
                                                       value.shape().ToString(),
                                                       ", which the model does not have"));
      }
      if (programs_->plan.shards) {
        TARTAN_RETURN_IF_ERROR(programs_->RestoreShard(name, value));
        continue;
      }
      const auto found = programs_->tensors.find(name);
      if (found != programs_->tensors.end()) {
        TARTAN_RETURN_IF_ERROR(found->second.Assign(value));
        continue;
      }
      TARTAN_ASSIGN_OR_RETURN(programs_->tensors[name],
                              api::DeviceTensor::FromHost(*programs_->device, value));
    }
    programs_->updates = state.step;
    programs_->batches = state.batches;
    programs_->unread = 0;
    return absl::OkStatus();
  });
}

Trainer::Memory Trainer::memory() const { return programs_->Memory(); }

int64_t Trainer::kernels() const {
  int64_t most = 0;
  for (const auto& [key, step] : programs_->steps) {
    if (step.program != nullptr) most = std::max(most, step.program->kernels());
  }
  return most;
}

}  // namespace tartan::train