// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/train/initialize.h"
#include "frontend/train/loss_output.h"
#include "frontend/train/trainer_impl.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

absl::Status CheckOptions(const TrainerOptions& options) {
  TARTAN_RETURN_IF_ERROR(options.optimizer.Check());
  if (!(options.clip_norm >= 0) || !(options.clip_value >= 0)) {
    return absl::InvalidArgumentError("gradients are clipped to a positive number");
  }
  if (options.accumulate < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("gradients of ", options.accumulate, " steps cannot be accumulated"));
  }
  return absl::OkStatus();
}

}  // namespace

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<const api::Device> device,
    TrainerOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Trainer>> {
    TARTAN_RETURN_IF_ERROR(CheckOptions(options));
    if (model->outputs().empty()) return absl::InvalidArgumentError("the model has no outputs");
    auto impl = std::make_unique<Impl>();
    TARTAN_ASSIGN_OR_RETURN(impl->parameters, FindParameters(*model, options.rules));
    impl->plan.mode = options.mode;
    impl->plan.loss = options.loss;
    impl->plan.output = LossOutput(*model, options.loss, options.output);
    impl->plan.optimizer = options.optimizer;
    impl->plan.clip_norm = options.clip_norm;
    impl->plan.clip_value = options.clip_value;
    impl->plan.straight_through = options.straight_through;
    impl->plan.accumulates = options.accumulate > 1;
    impl->model = std::move(model);
    impl->device = std::move(device);
    impl->options = std::move(options);
    return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
  });
}

const std::vector<Parameter>& Trainer::parameters() const { return impl_->parameters; }
const std::string& Trainer::loss_output() const { return impl_->plan.output; }
int64_t Trainer::step() const { return impl_->updates; }
int64_t Trainer::batches() const { return impl_->batches; }
double Trainer::compile_ms() const { return impl_->compile_ms; }
std::vector<api::KernelProfile> Trainer::Profile() const { return impl_->profile.Medians(); }

absl::StatusOr<std::optional<int64_t>> Trainer::CountClasses(const api::NamedTensors& inputs,
                                                             const HostTensor& target) {
  TARTAN_ASSIGN_OR_RETURN(const Impl::Program* step, impl_->StepFor(inputs, target));
  return step->classes;
}

absl::Status Trainer::Step(const api::NamedTensors& inputs, const HostTensor& target, double rate) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    TARTAN_ASSIGN_OR_RETURN(const Impl::Program* step, impl_->StepFor(inputs, target));
    std::vector<HostTensor> values = Impl::ValuesOf(shapes, inputs, target);
    values.push_back(impl_->Numbers(rate));
    if (step->has_seed) values.push_back(impl_->Seed(impl_->batches));
    TARTAN_RETURN_IF_ERROR(impl_->Start(*step->program, values));
    ++impl_->batches;
    ++impl_->unread;
    if (impl_->batches % impl_->options.accumulate != 0) return absl::OkStatus();
    if (impl_->plan.accumulates) {
      if (impl_->apply.program == nullptr) {
        TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildApply(impl_->parameters, impl_->plan));
        TARTAN_ASSIGN_OR_RETURN(impl_->apply, impl_->Make(std::move(graph), "update"));
      }
      TARTAN_RETURN_IF_ERROR(impl_->apply.program->Start({impl_->Numbers(rate)}));
    }
    ++impl_->updates;
    return absl::OkStatus();
  });
}

absl::StatusOr<Progress> Trainer::Read() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Progress> {
    Progress progress;
    progress.steps = std::exchange(impl_->unread, 0);
    const auto sums = impl_->tensors.find(kSums);
    if (sums == impl_->tensors.end()) return progress;
    TARTAN_ASSIGN_OR_RETURN(const HostTensor values, sums->second.ToHost());
    TARTAN_ASSIGN_OR_RETURN(const HostTensor skipped, impl_->tensors.at(kSkipped).ToHost());
    TARTAN_RETURN_IF_ERROR(sums->second.Assign(HostTensor::Zeros(values.shape())));
    if (const int64_t count = skipped.GetInt(0); count > 0) {
      impl_->failed_step = impl_->batches - count + 1;
      return absl::OutOfRangeError(
          absl::StrCat("the loss of step ", impl_->failed_step,
                       " is no finite number; parameters are as they were before it"));
    }
    if (values.GetDouble(kDenominator) > 0)
      progress.loss = values.GetDouble(kNumerator) / values.GetDouble(kDenominator);
    if (values.GetDouble(kCounted) > 0)
      progress.accuracy = values.GetDouble(kCorrect) / values.GetDouble(kCounted);
    return progress;
  });
}

int64_t Trainer::failed_step() const { return impl_->failed_step; }

absl::StatusOr<std::string> Trainer::FindNonFinite(const api::NamedTensors& inputs,
                                                   const HostTensor& target) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::string> {
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    std::vector<std::string> names;
    TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildSearch(*impl_->model, &impl_->parameters,
                                                         impl_->plan, shapes, &names));
    TARTAN_ASSIGN_OR_RETURN(const Impl::Program search, impl_->Make(std::move(graph), "search"));
    std::vector<HostTensor> values = Impl::ValuesOf(shapes, inputs, target);
    if (search.has_seed) values.push_back(impl_->Seed(impl_->failed_step - 1));
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
    TARTAN_ASSIGN_OR_RETURN(const BatchShapes shapes, impl_->ShapesOf(inputs, target));
    Impl::Program& evaluation = impl_->evaluations[KeyOf(shapes)];
    if (evaluation.program == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(
          StepGraph graph, BuildEvaluation(*impl_->model, &impl_->parameters, impl_->plan, shapes));
      TARTAN_ASSIGN_OR_RETURN(evaluation, impl_->Make(std::move(graph), "evaluation"));
    }
    TARTAN_RETURN_IF_ERROR(evaluation.program->Start(Impl::ValuesOf(shapes, inputs, target)));
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, evaluation.program->Outputs());
    Evaluation result;
    for (const double value : outputs[0].ToDoubles()) result.numerator += value;
    for (const double value : outputs[1].ToDoubles()) result.denominator += value;
    result.output = std::move(outputs[2]);
    return result;
  });
}

absl::StatusOr<std::map<std::string, HostTensor>> Trainer::Values() {
  std::map<std::string, HostTensor> values;
  for (const Parameter& parameter : impl_->parameters) {
    const auto found = impl_->tensors.find(absl::StrCat(kParameterState, parameter.name));
    if (found == impl_->tensors.end()) {
      if (impl_->options.initialize && parameter.is_trained)
        values[parameter.name] = InitialValue(parameter, impl_->options.seed);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(const HostTensor value, found->second.ToHost());
    values[parameter.name] = Converted(value, parameter.shape);
  }
  return values;
}

absl::StatusOr<TrainerState> Trainer::Save() {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TrainerState> {
    TrainerState state;
    state.step = impl_->updates;
    for (const auto& [name, tensor] : impl_->tensors) {
      if (name == kSums || name == kSkipped) continue;
      TARTAN_ASSIGN_OR_RETURN(state.tensors[name], tensor.ToHost());
    }
    return state;
  });
}

absl::Status Trainer::Restore(const TrainerState& state) {
  return CatchOutOfMemory([&]() -> absl::Status {
    for (const auto& [name, value] : state.tensors) {
      const size_t slash = name.find('/');
      const std::string parameter = slash == std::string::npos ? "" : name.substr(slash + 1);
      const auto known = std::find_if(impl_->parameters.begin(), impl_->parameters.end(),
                                      [&](const Parameter& p) { return p.name == parameter; });
      if (known == impl_->parameters.end() || known->shape.dims != value.shape().dims) {
        return absl::InvalidArgumentError(absl::StrCat("the state has '", name, "' ",
                                                       value.shape().ToString(),
                                                       ", which the model does not have"));
      }
      const auto found = impl_->tensors.find(name);
      if (found != impl_->tensors.end()) {
        TARTAN_RETURN_IF_ERROR(found->second.Assign(value));
        continue;
      }
      TARTAN_ASSIGN_OR_RETURN(impl_->tensors[name],
                              api::DeviceTensor::FromHost(*impl_->device, value));
    }
    impl_->updates = state.step;
    impl_->batches = state.step * impl_->options.accumulate;
    impl_->unread = 0;
    return absl::OkStatus();
  });
}

Trainer::Memory Trainer::memory() const {
  Memory memory;
  for (const auto& [name, tensor] : impl_->tensors) {
    (absl::StartsWith(name, kParameterState) ? memory.parameters : memory.state) +=
        tensor.shape().byte_size();
  }
  int64_t most = 0;
  for (const auto& [key, step] : impl_->steps) {
    if (step.program == nullptr) continue;
    const api::ProgramMemory used = step.program->memory(step.turn);
    memory.constants += used.constants;
    if (used.scratch <= most) continue;
    most = used.scratch;
    memory.batch = used.inputs;
    memory.kept = used.kept;
  }
  for (const auto& [key, evaluation] : impl_->evaluations) {
    if (evaluation.program != nullptr) memory.constants += evaluation.program->memory().constants;
  }
  if (impl_->apply.program != nullptr) memory.constants += impl_->apply.program->memory().constants;
  memory.scratch = impl_->scratch.bytes() - memory.batch - memory.kept;
  return memory;
}

int64_t Trainer::kernels() const {
  for (const auto& [key, step] : impl_->steps) {
    if (step.program != nullptr) return step.program->kernels();
  }
  return 0;
}

}  // namespace tartan::train