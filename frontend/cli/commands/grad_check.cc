// SPDX-License-Identifier: Apache-2.0
// tartan grad-check: the gradients of a model's parameters against differences in float64.
#include "frontend/train/grad_check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/model_case.h"
#include "frontend/cli/number_options.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

namespace fs = std::filesystem;

struct GradCheckFlags {
  std::string model;
  InputOptions input;
  train::GradCheckOptions check;
  train::ParameterRules rules;
};

using NamedValues = std::map<std::string, api::HostValue>;

// What the flags ask for; without any, the model's first data set where it has one.
absl::StatusOr<NamedValues> InputsFor(const GradCheckFlags& flags, const std::string& path,
                                      const onnx::OnnxModel& model, const Context& context) {
  const fs::path data = fs::path(path).parent_path() / "test_data_set_0";
  const bool asks =
      flags.input.random || !flags.input.inputs.empty() || !flags.input.shapes.empty();
  std::error_code ignored;
  if (!asks && fs::exists(data / "input_0.pb", ignored)) {
    return At(Stage::kFile, ReadDataSet(data.string(), model));
  }
  return MakeModelInputs(model, flags.input, context);
}

void FillReport(const train::GradCheckResult& result, proto::GradCheckReport* report) {
  for (const train::ParameterCheck& check : result.parameters) {
    proto::GradCheckReport::Parameter* row = report->add_parameters();
    row->set_name(check.name);
    row->set_max_abs_error(check.max_abs_error);
    row->set_max_rel_error(check.max_rel_error);
    row->set_status(std::string(train::Name(check.status)));
    row->set_checked(static_cast<int32_t>(check.checked));
    row->set_kinks(static_cast<int32_t>(check.kinks));
    row->set_training_error(check.training_error);
  }
  report->set_passed(result.passed());
}

std::string ToText(const proto::GradCheckReport& report) {
  size_t width = 9;
  for (const auto& row : report.parameters()) width = std::max(width, row.name().size());
  std::string text = absl::StrFormat("%-*s  %-7s  %10s  %10s  %7s  %5s  %11s\n",
                                     static_cast<int>(width), "parameter", "status", "abs error",
                                     "rel error", "checked", "kinks", "in training");
  int good = 0;
  for (const auto& row : report.parameters()) {
    if (row.status() == train::Name(train::GradCheckStatus::kOk)) ++good;
    absl::StrAppendFormat(&text, "%-*s  %-7s  %10.2e  %10.2e  %7d  %5d  %11.2e\n",
                          static_cast<int>(width), row.name(), row.status(), row.max_abs_error(),
                          row.max_rel_error(), row.checked(), row.kinks(), row.training_error());
  }
  absl::StrAppend(&text, report.passed() ? "passed: " : "failed: ", good, " of ",
                  report.parameters_size(), " parameters are ok\n");
  return text;
}

// Errors of the check itself: what is not differentiable is the model's fault.
absl::Status Staged(const absl::Status& status) {
  const bool is_model = absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  return At(is_model ? Stage::kModel : Stage::kRun, status);
}

absl::StatusOr<ExitCode> GradCheck(const GradCheckFlags& flags, const Context& context) {
  std::error_code ignored;
  const std::string path = fs::is_directory(flags.model, ignored)
                               ? (fs::path(flags.model) / "model.onnx").string()
                               : flags.model;
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model, At(Stage::kModel, onnx::OnnxModel::Load(path, load)));
  // With expressions it is they that leave nothing to check.
  const bool has_rules = !flags.rules.trainable.empty() || !flags.rules.frozen.empty();
  TARTAN_RETURN_IF_ERROR(At(has_rules ? Stage::kUsage : Stage::kModel,
                            train::FindParameters(*model, flags.rules).status()));
  TARTAN_ASSIGN_OR_RETURN(const NamedValues inputs, InputsFor(flags, path, *model, context));
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  if (!device->info().settings.has_float64) {
    return At(Stage::kDevice,
              absl::UnimplementedError(absl::StrCat(device->info().name, " has no float64")));
  }
  const auto result = train::CheckModelGradients(*model, device, inputs, flags.rules, flags.check);
  if (!result.ok()) return Staged(result.status());
  if (!result->fixed.empty()) {
    context.Note(
        absl::StrCat("not checked, as they decide shapes: ", absl::StrJoin(result->fixed, ", ")));
  }
  const bool differs = std::any_of(
      result->parameters.begin(), result->parameters.end(),
      [](const auto& check) { return check.status == train::GradCheckStatus::kDiffers; });
  if (!result->passed() && !differs) {
    context.Note("nothing is shown: every gradient that could be compared is 0");
  }
  proto::GradCheckReport report;
  report.set_model(path);
  report.set_device(Describe(device->info()));
  FillReport(*result, &report);
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return report.passed() ? ExitCode::kDone : ExitCode::kComparisonFailed;
}

}  // namespace

Command AddGradCheck(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "grad-check", "Compare the gradients of a model's parameters with differences in float64");
  auto flags = std::make_shared<GradCheckFlags>();
  command->add_option("model", flags->model, "ONNX model, or its folder with test_data_set_0")
      ->required()
      ->type_name("MODEL");
  AddInputFlags(command, &flags->input);
  flags->input.open_is_one = true;
  command->add_flag("--random", flags->input.random, "Inputs that are not given are random");
  AddWhole(command, "--samples", &flags->check.samples, 0, 1 << 30,
           "Elements of each parameter; 0: all");
  AddWhole(command, "--seed", &flags->check.seed, 0, INT64_MAX,
           "Of the loss, the elements and the directions");
  AddReal(command, "--rtol", &flags->check.tolerance, 0, 1, "Relative tolerance");
  command
      ->add_option("--trainable", flags->rules.trainable,
                   "Only initialisers whose names match are checked")
      ->type_name("RE");
  command->add_option("--frozen", flags->rules.frozen, "Those that match are not checked")
      ->type_name("RE");
  command->footer("Example:\n  tartan grad-check examples/digits/digits.onnx --random");
  return {command, [flags](const Context& context) { return GradCheck(*flags, context); }};
}

}  // namespace tartan::cli
