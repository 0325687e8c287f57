// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/cluster/measured_step.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/plan/step_kernels.h"
#include "frontend/cli/cluster/lone_rank.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/trainer.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int64_t kDefaultBatch = 32;
constexpr int kWarmupSteps = 3;
// Read waits for the device, so it is called once per sample, as often as train logs by default.
constexpr int kStepsPerSample = 10;
constexpr int kProfiledSteps = 5;
constexpr double kRate = 1e-6;  // small, so that made data cannot make a loss infinite

using Values = std::map<std::string, api::HostValue>;

// The batch of a made step.
struct MadeBatch {
  api::NamedTensors inputs;
  HostTensor target;
  int64_t rows = 1;
};

// The shape of the model's first output.
absl::StatusOr<TensorShape> OutputShape(const onnx::OnnxModel& model, const Values& inputs) {
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    api::InputBinding& binding = bindings.emplace_back();
    const auto found = inputs.find(spec.name);
    binding.given = found != inputs.end();
    if (binding.given) binding.shape = found->second.tensor().shape();
  }
  TARTAN_ASSIGN_OR_RETURN(api::BoundGraph graph, model.Bind(bindings));
  for (const int input : graph.needed_values) {
    if (input < 0 || !bindings[static_cast<size_t>(input)].given) continue;
    bindings[static_cast<size_t>(input)].value =
        &inputs.at(model.inputs()[static_cast<size_t>(input)].name);
  }
  if (!graph.needed_values.empty()) {
    TARTAN_ASSIGN_OR_RETURN(graph, model.Bind(bindings));
  }
  if (graph.outputs.empty() || !graph.outputs[0].is_tensor()) {
    return absl::InvalidArgumentError("the model's first output is not a tensor known by shapes");
  }
  return graph.outputs[0].tensor().shape();
}

// Class indices of 0 or values of 0 that fit the loss; undefined if it needs none.
absl::StatusOr<HostTensor> MakeTarget(const train::Loss& loss, const TensorShape& output) {
  if (!train::NeedsTarget(loss)) return HostTensor();
  if (loss.kind == train::LossKind::kCtc || loss.kind == train::LossKind::kFunction) {
    return absl::UnimplementedError(
        absl::StrCat("plan-cluster makes no targets for the loss ", train::Name(loss.kind)));
  }
  const bool has_classes = train::TakesClassIndices(loss.kind) && output.rank() > 1;
  if (!has_classes) return HostTensor::Zeros({DataType::kFloat32, output.dims});
  std::vector<int64_t> dims = output.dims;
  dims.erase(dims.size() == 4 ? dims.begin() + 1 : dims.end() - 1);  // pictures: [N, C, H, W]
  return HostTensor::Zeros({DataType::kInt64, std::move(dims)});
}

absl::StatusOr<MadeBatch> MakeBatch(const onnx::OnnxModel& model, const StepFlags& flags,
                                    const Context& context) {
  InputOptions options = flags.inputs;
  options.random = true;
  options.open_is_one = true;
  const std::vector<api::TensorSpec>& specs = model.inputs();
  const bool is_open = !specs.empty() && !specs[0].dims.empty() && specs[0].dims[0] < 0;
  if (flags.batch > 0 || (is_open && options.shapes.empty())) {
    options.batch = flags.batch > 0 ? flags.batch : kDefaultBatch;
  }
  TARTAN_ASSIGN_OR_RETURN(const Values values, MakeModelInputs(specs, options, context));
  MadeBatch batch;
  for (const auto& [name, value] : values) batch.inputs[name] = value.tensor();
  const auto first = specs.empty() ? values.end() : values.find(specs[0].name);
  if (first != values.end() && first->second.tensor().shape().rank() > 0) {
    batch.rows = first->second.tensor().shape().dims[0];
  }
  TARTAN_ASSIGN_OR_RETURN(const TensorShape output, At(Stage::kModel, OutputShape(model, values)));
  TARTAN_ASSIGN_OR_RETURN(batch.target, At(Stage::kUsage, MakeTarget(flags.trainer.loss, output)));
  return batch;
}

absl::Status RunSteps(train::Trainer& trainer, const MadeBatch& batch, int count) {
  for (int i = 0; i < count; ++i) {
    TARTAN_RETURN_IF_ERROR(trainer.Step(batch.inputs, batch.target, kRate));
  }
  return trainer.Read().status();
}

// The median time of a step in seconds.
absl::StatusOr<double> TimeSteps(train::Trainer& trainer, const MadeBatch& batch, double seconds) {
  TARTAN_RETURN_IF_ERROR(RunSteps(trainer, batch, kWarmupSteps));
  std::vector<double> samples;
  const Stopwatch total;
  do {
    const Stopwatch sample;
    TARTAN_RETURN_IF_ERROR(RunSteps(trainer, batch, kStepsPerSample));
    samples.push_back(sample.Milliseconds() / 1000 / kStepsPerSample);
  } while (total.Milliseconds() < 1000 * seconds);
  return Summarize(std::move(samples)).median;
}

// The launches of a step with their times, and the sizes that memory() reports.
plan_cluster::TrainingProfile ProfileOf(const train::Trainer& trainer, double step_s,
                                        double* parameters) {
  std::vector<plan_cluster::StepKernel> kernels;
  for (const api::KernelProfile& kernel : trainer.Profile()) {
    kernels.push_back({kernel.kernel, kernel.description, kernel.ms / 1000, kernel.flops});
  }
  std::vector<plan_cluster::TrainedTensor> tensors;
  double gradient_bytes = 0;
  for (const train::Parameter& parameter : trainer.parameters()) {
    if (!parameter.is_trained) continue;
    const auto bytes = static_cast<double>(parameter.shape.byte_size());
    tensors.push_back({parameter.name, parameter.shape.dims, bytes});
    gradient_bytes += bytes;
    *parameters += static_cast<double>(parameter.shape.element_count());
  }
  plan_cluster::TrainingProfile profile = plan_cluster::ProfileStep(kernels, tensors, step_s);
  const train::Trainer::Memory memory = trainer.memory();
  profile.parameter_bytes = static_cast<double>(memory.parameters);
  profile.gradient_bytes = gradient_bytes;
  // Sums of gradients are states of a rank.
  profile.state_bytes = std::max(0.0, static_cast<double>(memory.state) - gradient_bytes);
  profile.activation_bytes = static_cast<double>(memory.kept);
  profile.other_bytes = static_cast<double>(memory.batch + memory.scratch + memory.constants);
  return profile;
}

absl::Status InterpretStep(StepFlags* flags) {
  TARTAN_ASSIGN_OR_RETURN(flags->trainer.loss, train::ParseLoss(flags->loss));
  TARTAN_ASSIGN_OR_RETURN(flags->trainer.optimizer.kind, train::OptimizerNamed(flags->optimizer));
  return SetPrecision(&flags->precision, &flags->trainer);
}

}  // namespace

absl::StatusOr<MeasuredStep> MeasureStep(StepFlags flags, const Context& context) {
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, InterpretStep(&flags)));
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model,
                          At(Stage::kModel, onnx::OnnxModel::Load(flags.model, load)));
  TARTAN_ASSIGN_OR_RETURN(const MadeBatch batch, MakeBatch(*model, flags, context));
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice(flags.precision.matmuls));
  MeasuredStep measured;
  measured.device = Describe(device->info());
  flags.trainer.exchange = MakeLoneRank();
  double step_s = 0;
  {
    TARTAN_ASSIGN_OR_RETURN(
        const auto trainer,
        At(Stage::kUsage, train::Trainer::Create(model, device, flags.trainer)));
    TARTAN_ASSIGN_OR_RETURN(step_s, At(Stage::kRun, TimeSteps(*trainer, batch, flags.seconds)));
  }
  flags.trainer.profile = true;
  TARTAN_ASSIGN_OR_RETURN(const auto trainer,
                          At(Stage::kUsage, train::Trainer::Create(model, device, flags.trainer)));
  TARTAN_RETURN_IF_ERROR(At(Stage::kRun, RunSteps(*trainer, batch, kProfiledSteps)));
  measured.profile = ProfileOf(*trainer, step_s, &measured.parameters);
  measured.profile.examples = static_cast<double>(batch.rows);
  return measured;
}

}  // namespace tartan::cli
