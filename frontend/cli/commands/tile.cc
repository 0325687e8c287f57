// SPDX-License-Identifier: Apache-2.0
// tartan tile: runs a Tile function and its gradients.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/invoker.h"
#include "frontend/api/text_file.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/compare.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/output_values.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/tile_function.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/passes/passes.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::cli {
namespace {

// The names of the compiler's dumps: its passes, and the stages of each kernel.
std::vector<std::string> StageNames() {
  std::vector<std::string> names = {"program"};
  for (const compiler::Pass& pass : compiler::Passes()) names.emplace_back(pass.name);
  names.insert(names.end(), {"flat", "plan", "loops", "simplified", "fusion", "source"});
  return names;
}

// Deprecated names that scripts may use.
constexpr std::pair<absl::string_view, absl::string_view> kOlderStages[] = {{"graph", "partition"},
                                                                            {"sem", "loops"}};

std::vector<std::string> KnownStages() {
  std::vector<std::string> names = StageNames();
  for (const auto& [older, stage] : kOlderStages) names.emplace_back(older);
  return names;
}

std::string StageOf(absl::string_view name) {
  for (const auto& [older, stage] : kOlderStages) {
    if (name == older) return std::string(stage);
  }
  return std::string(name);
}

struct TileOptions {
  std::string file;
  InputOptions inputs;
  std::vector<std::string> types;    // NAME=float64
  std::vector<std::string> outputs;  // NAME=FILE
  GradientRequest gradients;
  std::vector<std::string> dumps;
  bool naive = false;
  bool check = false;
  Tolerance tolerance = {1e-4, 1e-6};
};

// The values of outputs, in order.
using Values = std::vector<HostTensor>;

std::vector<api::Tensor> TensorsOf(const std::vector<api::NamedTensor>& named) {
  std::vector<api::Tensor> tensors;
  for (const api::NamedTensor& item : named) tensors.push_back(item.tensor);
  return tensors;
}

absl::StatusOr<Values> RunNaively(const AppliedFunction& applied, const api::NamedTensors& inputs) {
  Values values;
  for (const api::NamedTensor& input : applied.inputs) values.push_back(inputs.at(input.name));
  return At(Stage::kRun,
            api::EvaluateReference(TensorsOf(applied.inputs), values, TensorsOf(applied.outputs),
                                   ir::NaiveOptions().max_points));
}

// Runs once, and a second time to measure the latency when warm.
absl::StatusOr<Values> RunOnDevice(std::shared_ptr<const api::Device> device,
                                   const AppliedFunction& applied, const api::NamedTensors& inputs,
                                   proto::TileReport* report) {
  api::RunStatistics statistics;
  TARTAN_ASSIGN_OR_RETURN(const api::Invoker invoker,
                          api::Invoker::Create(std::move(device), applied.inputs, applied.outputs,
                                               report->file(), &statistics));
  TARTAN_ASSIGN_OR_RETURN(api::NamedTensors results, invoker.Run(inputs, &statistics));
  report->set_first_ms(statistics.latency_ms);
  TARTAN_RETURN_IF_ERROR(invoker.Run(inputs, &statistics).status());
  report->set_latency_ms(statistics.latency_ms);
  report->set_compile_ms(statistics.compile_ms + statistics.setup_ms);
  report->set_kernels(static_cast<int32_t>(statistics.kernels));
  report->mutable_cache()->set_hits(static_cast<int32_t>(statistics.cache_hits));
  report->mutable_cache()->set_misses(static_cast<int32_t>(statistics.cache_misses));
  Values values;
  for (const api::NamedTensor& output : applied.outputs) values.push_back(results.at(output.name));
  return values;
}

// Compares with the naive evaluator and reports a difference on stderr.
absl::StatusOr<ExitCode> Check(const AppliedFunction& applied, const api::NamedTensors& inputs,
                               const Values& actual, const Tolerance& tolerance,
                               const Context& context, proto::TileReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const Values expected, RunNaively(applied, inputs));
  ExitCode code = ExitCode::kDone;
  for (size_t o = 0; o < expected.size(); ++o) {
    const Comparison comparison = Compare(actual[o], expected[o], tolerance);
    report->set_max_abs_error(std::max(report->max_abs_error(), comparison.max_abs_error));
    report->set_max_rel_error(std::max(report->max_rel_error(), comparison.max_rel_error));
    if (comparison.equal) continue;
    code = ExitCode::kComparisonFailed;
    context.Note(absl::StrCat("tartan: ", applied.outputs[o].name, ": ", comparison.message));
  }
  return code;
}

std::string ToText(const proto::TileReport& report, const Values& values, bool checked) {
  std::string text;
  for (size_t o = 0; o < values.size(); ++o) {
    absl::StrAppend(&text, report.outputs(static_cast<int>(o)).name(), ": ",
                    values[o].shape().ToString(), "\n", ValueText(values[o]));
  }
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  if (report.device().empty()) {
    table.AddRow({"device", "none: the naive evaluator"});
  } else {
    table.AddRow({"device", report.device()});
    table.AddRow({"compile", FormatMs(report.compile_ms())});
    table.AddRow(
        {"latency", absl::StrCat(FormatMs(report.latency_ms()), ", ", report.kernels(),
                                 " kernels (first run ", FormatMs(report.first_ms()), ")")});
  }
  if (checked) {
    table.AddRow({"error", absl::StrCat("maximum ", report.max_abs_error(),
                                        " compared with the naive evaluator, relative ",
                                        report.max_rel_error())});
  }
  return absl::StrCat(text, "\n", table.ToString());
}

// Compiles and shows the dumps of the given stages.
absl::Status Dump(api::Device& device, const AppliedFunction& applied,
                  const std::vector<std::string>& stages, proto::TileReport* report) {
  std::map<std::string, std::string> texts;
  compiler::CompileHooks hooks;
  hooks.dump = [&texts](absl::string_view stage, absl::string_view text) {
    absl::StrAppend(&texts[std::string(stage)], text);
  };
  TARTAN_ASSIGN_OR_RETURN(
      const api::ComposedProgram composed,
      api::Compose(TensorsOf(applied.inputs), TensorsOf(applied.outputs), report->file()));
  TARTAN_RETURN_IF_ERROR(device.With(std::move(hooks))->Compile(composed.program).status());
  for (const std::string& stage : stages) {
    proto::TileReport::Dump* dump = report->add_dumps();
    dump->set_stage(stage);
    dump->set_text(texts[StageOf(stage)]);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> ShowDumps(const TileOptions& options, const AppliedFunction& applied,
                                   const Context& context, proto::TileReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  report->set_device(Describe(device->info()));
  for (const api::NamedTensor& output : applied.outputs) {
    proto::RunReport::Output* entry = report->add_outputs();
    entry->set_name(output.name);
    entry->set_type(std::string(Name(output.tensor.type())));
    for (const int64_t dim : output.tensor.dims()) entry->add_shape(static_cast<double>(dim));
  }
  TARTAN_RETURN_IF_ERROR(At(Stage::kRun, Dump(*device, applied, options.dumps, report)));
  std::string text;
  for (const proto::TileReport::Dump& dump : report->dumps()) {
    if (report->dumps_size() > 1) absl::StrAppend(&text, "==== ", dump.stage(), "\n");
    absl::StrAppend(&text, dump.text());
  }
  TARTAN_RETURN_IF_ERROR(context.Print(*report, text));
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunFunction(const TileOptions& options, const AppliedFunction& applied,
                                     const api::NamedTensors& inputs, const Context& context,
                                     proto::TileReport* report) {
  std::vector<std::string> names;
  for (const api::NamedTensor& output : applied.outputs) names.push_back(output.name);
  TARTAN_ASSIGN_OR_RETURN(const auto files,
                          At(Stage::kUsage, ParseOutputFiles(options.outputs, names)));
  Values values;
  ExitCode code = ExitCode::kDone;
  if (options.naive) {
    TARTAN_ASSIGN_OR_RETURN(values, RunNaively(applied, inputs));
  } else {
    TARTAN_ASSIGN_OR_RETURN(auto device, context.OpenDevice());
    report->set_device(Describe(device->info()));
    TARTAN_ASSIGN_OR_RETURN(
        values, At(Stage::kRun, RunOnDevice(std::move(device), applied, inputs, report)));
  }
  if (options.check) {
    TARTAN_ASSIGN_OR_RETURN(code,
                            Check(applied, inputs, values, options.tolerance, context, report));
  }
  for (size_t o = 0; o < values.size(); ++o) FillOutput(names[o], values[o], report->add_outputs());
  for (const auto& [position, path] : files) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, WriteTensor(path, names[position], values[position])));
    context.Detail(absl::StrCat("wrote ", path));
  }
  TARTAN_RETURN_IF_ERROR(context.Print(*report, ToText(*report, values, options.check)));
  return code;
}

absl::StatusOr<ExitCode> Run(TileOptions options, const Context& context) {
  if (!options.dumps.empty()) options.inputs.random = true;  // dumps depend on shapes only
  if (options.file == "-") options.file = "/dev/stdin";
  TARTAN_ASSIGN_OR_RETURN(const std::string text,
                          At(Stage::kFile, api::ReadTextFile(options.file)));
  TARTAN_ASSIGN_OR_RETURN(const api::Function function,
                          At(Stage::kModel, api::Function::FromTile(text, options.file)));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::TensorSpec> specs,
                          At(Stage::kUsage, InputsOf(function, options.types)));
  TARTAN_ASSIGN_OR_RETURN(const auto values, MakeInputs(specs, options.inputs));
  api::NamedTensors inputs;
  for (const auto& [name, value] : values) inputs[name] = value.tensor();
  api::NamedShapes shapes;
  for (const auto& [name, value] : inputs) shapes[name] = value.shape();
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, CheckSizes(specs, shapes)));
  TARTAN_ASSIGN_OR_RETURN(const AppliedFunction applied,
                          ApplyWithGradients(function, inputs, options.gradients));
  proto::TileReport report;
  report.set_file(options.file);
  if (!options.dumps.empty()) return ShowDumps(options, applied, context, &report);
  return RunFunction(options, applied, inputs, context, &report);
}

void AddGradientFlags(CLI::App* command, GradientRequest* request) {
  command
      ->add_option("--grad", request->by,
                   "X or all: also compute the gradient of the sum of all output elements by this "
                   "input; once per input")
      ->type_name("X")
      ->allow_extra_args(false);
  command->add_option("--of", request->of, "With --grad: sum only this output")
      ->type_name("OUTPUT")
      ->needs("--grad")
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--ties",
          [request](const std::string& ties) {
            request->ties = ties == "first" ? api::Ties::kFirst : api::Ties::kShare;
          },
          "The gradient of a maximum that several elements attain: shared by all, or for the first")
      ->check(CLI::IsMember({"share", "first"}))
      ->default_str("share");
}

}  // namespace

Command AddTile(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tile", "Run a function written in Tile");
  auto options = std::make_shared<TileOptions>();
  command->add_option("file", options->file, "Text of the function; - for stdin")
      ->required()
      ->type_name("FILE.tile");
  AddInputFlags(command, &options->inputs);
  command
      ->add_option("--type", options->types, "NAME=float64: the type of an input, if not float32")
      ->type_name("NAME=TYPE")
      ->allow_extra_args(false);
  command->add_flag("--random", options->inputs.random, "Make inputs not named random");
  command->add_option("--output", options->outputs, "NAME=FILE: write an output as .npy or .pb")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  AddGradientFlags(command, &options->gradients);
  CLI::Option* dump =
      command
          ->add_option(
              "--dump", options->dumps,
              absl::StrCat("Compile only, and show the result of a stage of the compiler: ",
                           absl::StrJoin(StageNames(), ", ")))
          ->check(CLI::IsMember(KnownStages()))
          ->type_name("STAGE")
          ->allow_extra_args(false);
  CLI::Option* naive =
      command->add_flag("--naive", options->naive, "Evaluate by definition, without a device");
  command->add_flag("--check", options->check, "Compare the device with the naive evaluator")
      ->excludes(naive)
      ->excludes(dump);
  dump->excludes(naive);
  AddDouble(command, "--rtol", &options->tolerance.relative, 0, kMaxTolerance,
            "With --check: relative tolerance");
  AddDouble(command, "--atol", &options->tolerance.absolute, 0, kMaxTolerance,
            "With --check: absolute tolerance");
  command->footer(
      "Gradients are additional outputs, named grad(X).\n\n"
      "Example:\n"
      "  tartan tile examples/tile/matmul.tile --input A=rand:1 --shape A=2x3 \\\n"
      "    --input B=ones --shape B=3x4 --grad A --check");
  return {command, [options](const Context& context) { return Run(*options, context); }};
}

}  // namespace tartan::cli
