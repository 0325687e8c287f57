// SPDX-License-Identifier: Apache-2.0
// tartan grad-check: checks the gradients of a model's parameters against float64 finite
// differences.
#include "frontend/train/grad_check/grad_check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

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

// The inputs that the flags request; without flags, the model's first data set if it has one.
absl::StatusOr<NamedValues> InputsFor(const GradCheckFlags& flags, const std::string& path,
                                      const onnx::OnnxModel& model, const Context& context) {
  const fs::path data = fs::path(path).parent_path() / "test_data_set_0";
  const bool asks =
      flags.input.random || !flags.input.inputs.empty() || !flags.input.shapes.empty();
  std::error_code ignored;
  if (!asks && fs::exists(data / "input_0.pb", ignored)) {
    return At(Stage::kFile, ReadDataSet(data.string(), model));
  }
  return MakeModelInputs(model.inputs(), flags.input, context);
}

std::string DescribeEnd(const train::GradientEnd& end) {
  return end.op.empty() ? end.node : absl::StrCat(end.node, " (", end.op, ")");
}

// Sets the operator names, each once.
void SetOperators(const std::vector<train::GradientEnd>& ends, proto::GradCheckReport* report) {
  std::set<std::string> operators;
  for (const train::GradientEnd& end : ends) operators.insert(end.op.empty() ? end.node : end.op);
  for (const std::string& name : operators) report->add_operators(name);
}

std::string Operators(const proto::GradCheckReport& report) {
  return absl::StrJoin(report.operators(), ", ");
}

void FillReport(const train::GradCheckResult& result, proto::GradCheckReport* report) {
  std::vector<train::GradientEnd> ends;
  for (const train::ParameterCheck& check : result.parameters) {
    proto::GradCheckReport::Parameter* row = report->add_parameters();
    row->set_name(check.name);
    row->set_max_abs_error(check.max_abs_error);
    row->set_max_rel_error(check.max_rel_error);
    row->set_status(std::string(train::Name(check.status)));
    row->set_checked(static_cast<int32_t>(check.checked));
    row->set_kinks(static_cast<int32_t>(check.kinks));
    row->set_training_error(check.training_error);
    for (const train::GradientEnd& end : check.ends) row->add_ends(DescribeEnd(end));
    ends.insert(ends.end(), check.ends.begin(), check.ends.end());
  }
  SetOperators(ends, report);
  report->set_passed(result.passed());
}

std::string ToText(const proto::GradCheckReport& report) {
  size_t width = 9;
  for (const auto& row : report.parameters()) width = std::max(width, row.name().size());
  std::string text = absl::StrFormat("%-*s  %-7s  %10s  %10s  %7s  %5s  %11s\n",
                                     static_cast<int>(width), "parameter", "status", "abs error",
                                     "rel error", "checked", "kinks", "train error");
  int good = 0;
  int none = 0;
  for (const auto& row : report.parameters()) {
    if (row.status() == train::Name(train::GradCheckStatus::kOk)) ++good;
    if (row.status() == train::Name(train::GradCheckStatus::kNone)) ++none;
    absl::StrAppendFormat(&text, "%-*s  %-7s  %10.2e  %10.2e  %7d  %5d  %11.2e\n",
                          static_cast<int>(width), row.name(), row.status(), row.max_abs_error(),
                          row.max_rel_error(), row.checked(), row.kinks(), row.training_error());
  }
  if (none > 0) {
    absl::StrAppend(&text, none, " without a gradient; gradients end at ", Operators(report), "\n");
  }
  absl::StrAppend(&text,
                  report.passed()                    ? "passed: "
                  : none == report.parameters_size() ? "not differentiable: "
                                                     : "failed: ",
                  good, " of ", report.parameters_size(), " parameters are ok\n");
  return text;
}

// Attaches a stage to errors of the check: a model that is not differentiable is a model error.
absl::Status Staged(const absl::Status& status) {
  const bool is_model = absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  return At(is_model ? Stage::kModel : Stage::kRun, status);
}

// Explains why a model has nothing to train. If its weights are integers, the report has the nodes
// where gradients of its inputs end.
absl::Status NothingToTrain(absl::Status status, const onnx::OnnxModel& model,
                            const NamedValues& inputs, proto::GradCheckReport* report,
                            const Context& context) {
  const auto ends = train::FindInputEnds(model, inputs);
  if (!ends.ok() || ends->empty()) return At(Stage::kModel, std::move(status));
  SetOperators(*ends, report);
  TARTAN_RETURN_IF_ERROR(context.Print(*report, ""));
  return At(Stage::kModel,
            absl::UnimplementedError(
                absl::StrCat("the model has no float weights, and gradients of its inputs end at ",
                             Operators(*report))));
}

absl::StatusOr<ExitCode> GradCheck(const GradCheckFlags& flags, const Context& context) {
  std::error_code ignored;
  const std::string path = fs::is_directory(flags.model, ignored)
                               ? (fs::path(flags.model) / "model.onnx").string()
                               : flags.model;
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model, At(Stage::kModel, onnx::OnnxModel::Load(path, load)));
  // If rules are given, they are the reason that nothing is left to check.
  const bool has_rules = !flags.rules.trainable.empty() || !flags.rules.frozen.empty();
  const absl::Status trained = train::FindParameters(*model, flags.rules).status();
  if (has_rules) TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, trained));
  proto::GradCheckReport report;
  report.set_model(path);
  TARTAN_ASSIGN_OR_RETURN(const NamedValues inputs, InputsFor(flags, path, *model, context));
  if (!trained.ok()) return NothingToTrain(trained, *model, inputs, &report, context);
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  if (!device->info().settings.has_float64) {
    return At(Stage::kDevice,
              absl::UnimplementedError(absl::StrCat(device->info().name, " has no float64")));
  }
  const auto result = train::CheckModelGradients(*model, device, inputs, flags.rules, flags.check);
  if (!result.ok()) return Staged(result.status());
  if (!result->fixed.empty()) {
    context.Note(absl::StrCat("not checked, because they determine shapes: ",
                              absl::StrJoin(result->fixed, ", ")));
  }
  report.set_device(cli::Describe(device->info()));
  FillReport(*result, &report);
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  if (report.passed()) return ExitCode::kDone;
  if (result->has(train::GradCheckStatus::kDiffers)) return ExitCode::kComparisonFailed;
  if (report.operators_size() > 0) {
    return At(Stage::kModel,
              absl::UnimplementedError(absl::StrCat(
                  "no parameter has a gradient to compare; gradients end at ", Operators(report))));
  }
  context.Note("the check shows nothing: every gradient that could be compared is 0");
  return ExitCode::kComparisonFailed;
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
  command->add_flag("--random", flags->input.random, "Make inputs that are not given random");
  AddInteger(command, "--samples", &flags->check.samples, 0, 1 << 30,
             "Number of elements to check per parameter; 0: all");
  AddInteger(command, "--seed", &flags->check.seed, 0, INT64_MAX,
             "Seed of the loss, the elements and the directions");
  AddDouble(command, "--rtol", &flags->check.tolerance, 0, 1, "Relative tolerance");
  command
      ->add_option("--trainable", flags->rules.trainable,
                   "Check only initialisers whose names match")
      ->type_name("RE");
  command
      ->add_option("--frozen", flags->rules.frozen, "Do not check initialisers whose names match")
      ->type_name("RE");
  command->footer("Example:\n  tartan grad-check examples/digits/digits.onnx --random");
  return {command, [flags](const Context& context) { return GradCheck(*flags, context); }};
}

}  // namespace tartan::cli
