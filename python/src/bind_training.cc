// SPDX-License-Identifier: Apache-2.0
// Binds the trainer of ONNX models.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/data/open_dataset.h"
#include "frontend/onnx/model/model_writer.h"
#include "frontend/train/fit.h"
#include "frontend/train/graph/lora.h"
#include "frontend/train/log/event_file.h"
#include "frontend/train/ranks/gradient_exchange.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using DatasetPtr = std::shared_ptr<const data::Dataset>;

struct Training {
  std::shared_ptr<const onnx::OnnxModel> model;
  train::TrainerOptions options;
  std::unique_ptr<train::Trainer> trainer;
};

// Sets a field to the option of that name. Python passes all options.
template <class T>
void Take(const nb::dict& options, const char* name, T* field) {
  *field = nb::cast<T>(options[name]);
}

train::TrainerOptions TrainerOptionsOf(const nb::dict& from) {
  train::TrainerOptions options;
  const auto text = [&](const char* name) { return nb::cast<std::string>(from[name]); };
  options.loss = ValueOrRaise(train::ParseLoss(text("loss")));
  options.optimizer.kind = ValueOrRaise(train::OptimizerNamed(text("optimizer")));
  options.precision = ValueOrRaise(train::PrecisionNamed(text("precision")));
  options.loss_scale = ValueOrRaise(train::ParseLossScale(text("loss_scale")));
  if (const std::string augment = text("augment"); !augment.empty())
    options.augment.list = ValueOrRaise(train::ParseAugmentations(augment));
  Take(from, "channels_last", &options.augment.channels_last);
  Take(from, "output", &options.output);
  Take(from, "weight_decay", &options.optimizer.decay);
  Take(from, "momentum", &options.optimizer.momentum);
  Take(from, "beta1", &options.optimizer.beta1);
  Take(from, "beta2", &options.optimizer.beta2);
  Take(from, "epsilon", &options.optimizer.epsilon);
  Take(from, "clip_norm", &options.clip_norm);
  Take(from, "clip_value", &options.clip_value);
  Take(from, "accumulate", &options.accumulate);
  Take(from, "sparse_embeddings", &options.sparse_embeddings);
  Take(from, "trainable", &options.rules.trainable);
  Take(from, "frozen", &options.rules.frozen);
  using Groups = std::vector<std::pair<std::string, std::pair<double, double>>>;
  for (const auto& [names, factors] : nb::cast<Groups>(from["groups"]))
    options.rules.groups.push_back({names, {factors.first, factors.second}});
  for (const auto& rule : nb::cast<std::vector<std::string>>(from["lora"]))
    options.rules.lora.push_back(ValueOrRaise(train::ParseLora(rule)));
  Take(from, "batch_norm", &options.mode.batch_norm);
  Take(from, "dropout", &options.mode.dropout);
  Take(from, "dropout_ratio", &options.mode.dropout_ratio);
  Take(from, "dropout_at", &options.mode.dropout_of);
  Take(from, "straight_through", &options.straight_through);
  Take(from, "initialize", &options.initialize);
  Take(from, "seed", &options.seed);
  Take(from, "memory_budget", &options.memory_budget);
  return options;
}

train::FitOptions FitOptionsOf(const nb::dict& from) {
  train::FitOptions options;
  options.schedule = ValueOrRaise(train::ParseSchedule(nb::cast<std::string>(from["schedule"])));
  Take(from, "columns", &options.columns);
  Take(from, "target", &options.target);
  Take(from, "batch", &options.batch);
  Take(from, "epochs", &options.epochs);
  Take(from, "steps", &options.steps);
  Take(from, "validation", &options.validation);
  Take(from, "shuffle", &options.shuffle);
  Take(from, "drop_last", &options.drop_last);
  Take(from, "check_data", &options.check_data);
  Take(from, "seed", &options.seed);
  Take(from, "rate", &options.rate);
  Take(from, "metrics", &options.metrics);
  Take(from, "threshold", &options.threshold);
  Take(from, "log_every", &options.log_every);
  Take(from, "checkpoint", &options.checkpoint);
  Take(from, "checkpoint_every", &options.checkpoint_every);
  Take(from, "resume", &options.resume);
  Take(from, "patience", &options.patience);
  return options;
}

std::unique_ptr<Training> Create(const nb::object& path_or_bytes,
                                 const std::shared_ptr<api::Device>& device,
                                 const nb::dict& options,
                                 const std::shared_ptr<train::GradientExchange>& exchange) {
  auto training = std::make_unique<Training>();
  training->options = TrainerOptionsOf(options);
  training->options.exchange = exchange;
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  if (nb::isinstance<nb::bytes>(path_or_bytes)) {
    const auto bytes = nb::cast<nb::bytes>(path_or_bytes);
    training->model = ValueOrRaise(onnx::OnnxModel::LoadBytes(
        {reinterpret_cast<const uint8_t*>(bytes.c_str()), bytes.size()}, "model", load));
  } else {
    training->model =
        ValueOrRaise(onnx::OnnxModel::Load(nb::cast<std::string>(path_or_bytes), load));
  }
  training->trainer =
      ValueOrRaise(train::Trainer::Create(training->model, device, training->options));
  return training;
}

HostTensor TargetOf(const std::optional<HostTensor>& target) {
  return target.value_or(HostTensor());
}

void Step(Training& self, const api::NamedTensors& inputs, const std::optional<HostTensor>& target,
          double rate) {
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = self.trainer->Step(inputs, TargetOf(target), rate);
  }
  RaiseIfError(status);
}

nb::dict Read(Training& self) {
  absl::StatusOr<train::Progress> read;
  {
    const nb::gil_scoped_release unlocked;
    read = self.trainer->Read();
  }
  const train::Progress progress = ValueOrRaise(std::move(read));
  nb::dict result;
  result["batches"] = progress.steps;
  result["loss"] = progress.loss;
  result["accuracy"] = nb::cast(progress.accuracy);
  result["loss_scale"] = nb::cast(progress.loss_scale);
  result["left_out"] = progress.left_out;
  return result;
}

nb::tuple Evaluate(Training& self, const api::NamedTensors& inputs,
                   const std::optional<HostTensor>& target) {
  absl::StatusOr<train::Evaluation> made;
  {
    const nb::gil_scoped_release unlocked;
    made = self.trainer->Evaluate(inputs, TargetOf(target));
  }
  const train::Evaluation evaluation = ValueOrRaise(std::move(made));
  return nb::make_tuple(evaluation.numerator, evaluation.denominator, evaluation.output);
}

nb::dict LineOf(const train::LogLine& line) {
  nb::dict result;
  result["step"] = line.step;
  result["steps"] = line.steps;
  result["epoch"] = line.epoch;
  result["epochs"] = line.epochs;
  result["rate"] = line.rate;
  result["loss"] = line.loss;
  result["metrics"] = nb::cast(line.metrics);
  result["loss_scale"] = nb::cast(line.loss_scale);
  result["left_out"] = line.left_out;
  result["step_ms"] = line.step_ms;
  result["is_epoch_end"] = line.is_epoch_end;
  return result;
}

nb::dict ResultOf(const train::FitResult& fit) {
  nb::dict result;
  result["steps"] = fit.steps;
  result["median_step_ms"] = fit.median_step_ms;
  result["ended_early"] = fit.ended_early;
  result["is_best"] = fit.is_best;
  result["metrics"] = nb::cast(fit.metrics);
  return result;
}

// A path, or columns.
DatasetPtr DatasetOf(const nb::object& source, bool channels_last) {
  if (nb::isinstance<nb::str>(source)) {
    data::OpenOptions options;
    options.pictures.channels_last = channels_last;
    return ValueOrRaise(data::OpenDataset(nb::cast<std::string>(source), options));
  }
  std::vector<data::NamedTensor> columns;
  for (auto& [name, tensor] : nb::cast<std::vector<std::pair<std::string, HostTensor>>>(source))
    columns.push_back({name, tensor});
  return ValueOrRaise(data::DatasetOf("data", std::move(columns)));
}

// `log` and `note` are functions of Python. An exception in them, and Ctrl-C, end the run after its
// state is saved.
nb::dict Fit(Training& self, const nb::object& source, const nb::object& validation,
             const nb::dict& options, const nb::object& log, const nb::object& note) {
  const bool channels_last = self.options.augment.channels_last;
  train::FitOptions fit = FitOptionsOf(options);
  const DatasetPtr dataset = DatasetOf(source, channels_last);
  if (!validation.is_none()) fit.validation_data = DatasetOf(validation, channels_last);
  bool has_raised = false;
  const auto call = [&has_raised](const nb::object& function, const auto& argument) {
    if (has_raised) return;
    try {
      function(argument);
    } catch (nb::python_error& error) {
      error.restore();
      has_raised = true;
    }
  };
  std::unique_ptr<train::EventFile> events;
  if (const auto folder = nb::cast<std::string>(options["tensorboard"]); !folder.empty())
    events = ValueOrRaise(train::EventFile::Open(folder));
  absl::Status logged;
  train::FitHooks hooks;
  hooks.log = [&](const train::LogLine& line) {
    if (events != nullptr) logged.Update(events->Add(line));
    const nb::gil_scoped_acquire locked;
    call(log, LineOf(line));
  };
  hooks.note = [&](const std::string& message) {
    const nb::gil_scoped_acquire locked;
    call(note, nb::str(message.c_str()));
  };
  hooks.should_stop = [&] {
    const nb::gil_scoped_acquire locked;
    has_raised = has_raised || PyErr_CheckSignals() != 0;
    return has_raised || !logged.ok();
  };
  absl::StatusOr<train::FitResult> result;
  {
    const nb::gil_scoped_release unlocked;
    result = train::Fit(*self.trainer, *self.model, dataset, self.options, fit, hooks);
  }
  if (has_raised) throw nb::python_error();
  RaiseIfError(logged);
  return ResultOf(ValueOrRaise(std::move(result)));
}

std::map<std::string, HostTensor> ValuesOf(Training& self) {
  absl::StatusOr<std::map<std::string, HostTensor>> values;
  {
    const nb::gil_scoped_release unlocked;
    values = self.trainer->Values();
  }
  return ValueOrRaise(std::move(values));
}

nb::tuple SaveState(Training& self) {
  absl::StatusOr<train::TrainerState> saved;
  {
    const nb::gil_scoped_release unlocked;
    saved = self.trainer->Save();
  }
  const train::TrainerState state = ValueOrRaise(std::move(saved));
  return nb::make_tuple(state.step, state.batches, nb::cast(state.tensors));
}

void RestoreState(Training& self, int64_t step, int64_t batches,
                  std::map<std::string, HostTensor> tensors) {
  RaiseIfError(self.trainer->Restore({step, batches, std::move(tensors)}));
}

std::vector<nb::tuple> ParametersOf(const Training& self) {
  std::vector<nb::tuple> result;
  for (const train::Parameter& parameter : self.trainer->parameters()) {
    result.push_back(
        nb::make_tuple(parameter.name, nb::cast(parameter.shape.dims), parameter.is_trained));
  }
  return result;
}

nb::dict MemoryOf(const Training& self) {
  const train::TrainingMemory memory = self.trainer->memory();
  nb::dict result;
  result["peak"] = memory.total();
  result["parameters"] = memory.parameters;
  result["state"] = memory.state;
  result["kept"] = memory.kept;
  result["scratch"] = memory.scratch;
  result["batch"] = memory.batch;
  result["constants"] = memory.constants;
  return result;
}

}  // namespace

void BindTraining(nb::module_& module) {
  nb::class_<train::GradientExchange>(module, "GradientExchange",
                                      "Joins the ranks of a data-parallel run.");
  nb::class_<Training>(module, "Training", "Trains an ONNX model on a device.")
      .def_static("create", &Create, nb::arg("path_or_bytes"), nb::arg("device"),
                  nb::arg("options"), nb::arg("exchange").none())
      .def("step", &Step, nb::arg("inputs"), nb::arg("target").none(), nb::arg("rate"))
      .def("read", &Read)
      .def("evaluate", &Evaluate, nb::arg("inputs"), nb::arg("target").none())
      .def("fit", &Fit, nb::arg("data"), nb::arg("validation").none(), nb::arg("options"),
           nb::arg("log"), nb::arg("note"))
      .def("values", &ValuesOf)
      .def("save_state", &SaveState)
      .def("restore_state", &RestoreState, nb::arg("step"), nb::arg("batches"), nb::arg("tensors"))
      .def("write",
           [](Training& self, const std::string& from, const std::string& to) {
             RaiseIfError(onnx::WriteModel(from, to, ValuesOf(self)));
           })
      .def_prop_ro("inputs",
                   [](const Training& self) {
                     std::vector<std::pair<std::string, std::string>> inputs;
                     for (size_t i = 0; i < self.model->own_input_count(); ++i) {
                       const api::TensorSpec& spec = self.model->inputs()[i];
                       inputs.emplace_back(spec.name, std::string(Name(spec.type)));
                     }
                     return inputs;
                   })
      .def_prop_ro("parameters", &ParametersOf)
      .def_prop_ro("memory", &MemoryOf)
      .def_prop_ro("steps", [](const Training& self) { return self.trainer->step(); })
      .def_prop_ro("loss_output", [](const Training& self) { return self.trainer->loss_output(); })
      .def_prop_ro("needs_target",
                   [](const Training& self) { return train::NeedsTarget(self.options.loss); });
}

}  // namespace tartan::python
