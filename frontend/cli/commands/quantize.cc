// SPDX-License-Identifier: Apache-2.0
// tartan quantize: writes a model with smaller weights and reports the effect on its outputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/api/session.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/terminal.h"
#include "frontend/data/array_files.h"
#include "frontend/onnx/model/quantize_weights.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

using Values = std::map<std::string, api::HostValue>;

struct QuantizeFlags {
  std::string model;
  std::string output;
  std::string weights;
  std::string calibrate;  // an .npz file; empty: random inputs
  InputOptions inputs;
  onnx::QuantizeOptions options;
  bool compare = true;
};

// Reads the arrays of a file as the inputs with their names.
absl::Status TakeArrays(const std::string& path, const api::Model& model, Values* inputs) {
  if (!absl::EndsWith(path, ".npz")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected an .npz file with arrays named as the model's inputs"));
  }
  TARTAN_ASSIGN_OR_RETURN(const data::ArrayFile file, data::OpenNpz(path));
  TARTAN_RETURN_IF_ERROR(file.verify());
  for (const data::NamedTensor& array : file.arrays) {
    const auto& specs = model.inputs();
    const bool is_input = std::any_of(specs.begin(), specs.end(), [&](const api::TensorSpec& spec) {
      return spec.name == array.name;
    });
    if (!is_input) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": the model has no input '", array.name,
                                                     "'; it has ", ListInputs(specs)));
    }
    (*inputs)[array.name] = api::HostValue(array.tensor);
  }
  return absl::OkStatus();
}

absl::StatusOr<Values> InputsFor(const api::Model& model, const QuantizeFlags& flags,
                                 const Context& context) {
  Values given;
  if (!flags.calibrate.empty()) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, TakeArrays(flags.calibrate, model, &given)));
  }
  InputOptions options = flags.inputs;
  options.random = true;
  options.open_is_one = true;
  for (const auto& [name, value] : given) {
    if (!value.is_tensor()) continue;
    std::string dims;
    for (const int64_t dim : value.tensor().shape().dims) {
      absl::StrAppend(&dims, dims.empty() ? "" : "x", dim);
    }
    if (!dims.empty()) options.shapes.push_back(absl::StrCat(name, "=", dims));
  }
  TARTAN_ASSIGN_OR_RETURN(Values inputs, MakeModelInputs(model.inputs(), options, context));
  for (auto& [name, value] : given) inputs[name] = std::move(value);
  return inputs;
}

// Compares outputs before and after: errors for floats, the number of differing elements for other
// types.
void CompareOutputs(const api::TensorSpec& spec, const HostTensor& before, const HostTensor& after,
                    proto::QuantizeReport* report) {
  proto::QuantizeReport::Output* output = report->add_outputs();
  output->set_name(spec.name);
  if (before.shape().dims != after.shape().dims) {
    output->set_max_error(std::numeric_limits<double>::infinity());
    output->set_relative_error(std::numeric_limits<double>::infinity());
    return;
  }
  double errors = 0;
  double squares = 0;
  double greatest = 0;
  for (int64_t i = 0; i < before.element_count(); ++i) {
    const double was = before.GetDouble(i);
    const double error = std::abs(after.GetDouble(i) - was);
    if (!std::isfinite(was)) continue;
    greatest = std::max(greatest, error);
    errors += error * error;
    squares += was * was;
  }
  output->set_max_error(greatest);
  output->set_relative_error(squares == 0 ? std::sqrt(errors) : std::sqrt(errors / squares));
}

absl::Status CompareModels(const QuantizeFlags& flags, const Context& context,
                           proto::QuantizeReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  report->set_device(Describe(device->info()));
  std::vector<api::HostValue> outputs[2];
  Values inputs;
  for (const int which : {0, 1}) {
    const std::string& path = which == 0 ? flags.model : flags.output;
    TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(path));
    if (which == 0) {
      TARTAN_ASSIGN_OR_RETURN(inputs, InputsFor(*model, flags, context));
    }
    TARTAN_ASSIGN_OR_RETURN(const auto session, context.OpenSession(model, device));
    TARTAN_ASSIGN_OR_RETURN(outputs[which], At(Stage::kRun, session->RunValues(inputs)));
    if (which == 0) continue;
    for (size_t i = 0; i < outputs[0].size(); ++i) {
      if (!outputs[0][i].is_tensor() || !outputs[1][i].is_tensor()) continue;
      CompareOutputs(model->outputs()[i], outputs[0][i].tensor(), outputs[1][i].tensor(), report);
    }
  }
  return absl::OkStatus();
}

std::string ToText(const proto::QuantizeReport& report) {
  using Align = Table::Align;
  Table tensors({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  tensors.AddRow({"bits", "max error", "RMS error", "weights"});
  for (const proto::QuantizeReport::Tensor& tensor : report.tensors()) {
    tensors.AddRow({absl::StrCat(tensor.bits()), absl::StrFormat("%.2e", tensor.max_error()),
                    absl::StrFormat("%.2f %%", 100 * tensor.relative_error()), tensor.name()});
  }
  std::string text =
      report.tensors().empty() ? "no matmul has weights to quantize\n" : tensors.ToString("  ");
  for (const std::string& name : report.kept()) {
    absl::StrAppend(&text, "  not quantized: ", name, "\n");
  }
  for (const proto::QuantizeReport::Output& output : report.outputs()) {
    absl::StrAppendFormat(&text, "output  %s: maximum difference %.2g, mean difference %.3g %%\n",
                          output.name(), output.max_error(), 100 * output.relative_error());
  }
  absl::StrAppend(&text, "wrote   ", report.output(), ", ", FormatBytes(report.bytes_after()),
                  " of weights instead of ", FormatBytes(report.bytes_before()), "\n");
  return text;
}

absl::StatusOr<ExitCode> Run(QuantizeFlags flags, const Context& context) {
  flags.options.bits = flags.weights == "int4" ? 4 : 8;
  const int64_t block = flags.options.block;
  if ((block & (block - 1)) != 0) {
    return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                 "--block ", block, ": expected 16, 32, 64, 128 or 256")));
  }
  // Errors that would prevent writing or comparing are reported before anything is written.
  TARTAN_RETURN_IF_ERROR(context.LoadModel(flags.model).status());
  TARTAN_ASSIGN_OR_RETURN(
      const onnx::QuantizedModel written,
      At(Stage::kFile, onnx::QuantizeWeights(flags.model, flags.output, flags.options)));
  proto::QuantizeReport report;
  report.set_model(flags.model);
  report.set_output(flags.output);
  for (const onnx::QuantizedTensor& tensor : written.tensors) {
    proto::QuantizeReport::Tensor* each = report.add_tensors();
    each->set_name(tensor.name);
    each->set_bits(static_cast<int32_t>(tensor.bits));
    each->set_max_error(tensor.max_error);
    each->set_relative_error(tensor.rms_error);
  }
  for (const std::string& name : written.kept) report.add_kept(name);
  report.set_bytes_before(static_cast<double>(written.bytes_before));
  report.set_bytes_after(static_cast<double>(written.bytes_after));
  if (flags.compare) TARTAN_RETURN_IF_ERROR(CompareModels(flags, context, &report));
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddQuantize(CLI::App& app) {
  CLI::App* command = app.add_subcommand("quantize", "Write a model with smaller weights");
  auto flags = std::make_shared<QuantizeFlags>();
  command->add_option("model", flags->model, "ONNX model")->type_name("MODEL")->required();
  command->add_option("--weights", flags->weights, "int8 or int4")
      ->check(CLI::IsMember({"int8", "int4"}))
      ->type_name("TYPE")
      ->required();
  command->add_option("-o,--output", flags->output, "The model to write")
      ->type_name("FILE")
      ->required();
  AddInteger(command, "--block", &flags->options.block, 16, 256,
             "Number of weights that share a scale")
      ->default_str(absl::StrCat(flags->options.block));
  command
      ->add_option(
          "--calibrate", flags->calibrate,
          "Inputs on which both models are compared: an .npz file with arrays of their names")
      ->type_name("FILE");
  command->add_flag_callback(
      "--no-compare", [flags] { flags->compare = false; }, "Do not run the models");
  AddInputFlags(command, &flags->inputs);
  command->footer(
      "Matmuls with weights (MatMul, Gemm) become MatMulNBits of com.microsoft, which onnxruntime\n"
      "runs, too: blocks of integers, each with a scale. Both models run once, with random values\n"
      "for inputs that are not given, and the difference of their outputs is reported.\n\n"
      "Example:\n"
      "  tartan quantize gpt2.onnx --weights int8 -o gpt2-int8.onnx");
  return {command, [flags](const Context& context) { return Run(*flags, context); }};
}

}  // namespace tartan::cli
