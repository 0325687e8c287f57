// SPDX-License-Identifier: Apache-2.0
// tartan run: runs a model once.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/expected_outputs.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/commands/model_session.h"
#include "frontend/cli/commands/tiers_report.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/output_values.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "frontend/cli/top_scores.h"
#include "proto/report.pb.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int64_t kMaxTopRows = 64;
// Maximum time in ms of the first run for which a second run measures the latency.
constexpr double kLongRunMs = 5000;

struct RunOptions {
  std::string model;
  InputOptions inputs;
  std::vector<std::string> outputs;   // NAME=FILE
  std::vector<std::string> states;    // PRESENT=PAST
  std::vector<std::string> expected;  // NAME=@FILE
  ExpectedTolerance tolerance;
  int64_t topk = 0;
  std::string labels;
};

void AddTopScores(const api::HostValue& value, const RunOptions& options,
                  const std::vector<std::string>& labels, proto::RunReport::Output* output) {
  if (options.topk <= 0 || !value.is_tensor() || value.element() != api::Element::kPlain) return;
  for (const TopScore& score : TopScores(value.tensor(), options.topk, kMaxTopRows)) {
    proto::TopEntry* entry = output->add_top();
    entry->set_row(score.row);
    entry->set_index(score.index);
    entry->set_score(score.score);
    if (score.index < static_cast<int64_t>(labels.size())) entry->set_label(labels[score.index]);
  }
}

std::string TopText(const proto::RunReport::Output& output, bool probabilities, bool color) {
  Table table(
      {Table::Align::kRight, Table::Align::kRight, Table::Align::kRight, Table::Align::kLeft});
  bool several_rows = false;
  for (const proto::TopEntry& entry : output.top()) several_rows |= entry.row() > 0;
  int last_row = -1;
  for (const proto::TopEntry& entry : output.top()) {
    const bool first = entry.row() != last_row;
    last_row = entry.row();
    const std::string score = probabilities ? absl::StrFormat("%.2f %%", 100 * entry.score())
                                            : absl::StrFormat("%.6g", entry.score());
    const bool bold = color && first && !entry.label().empty();
    table.AddRow({several_rows && first ? absl::StrCat("row ", entry.row()) : "",
                  absl::StrCat(entry.index()), score,
                  bold ? absl::StrCat(kBold, entry.label(), kPlain) : entry.label()});
  }
  return table.ToString();
}

std::string ToText(const proto::RunReport& report, const std::vector<api::HostValue>& values) {
  std::string text;
  for (int o = 0; o < report.outputs_size(); ++o) {
    const proto::RunReport::Output& output = report.outputs(o);
    absl::StrAppend(&text, Printable(output.name()), ": ", Describe(values[o]), "\n",
                    output.top_size() > 0
                        ? TopText(output, AreProbabilities(values[o].tensor()), HasColor(1))
                        : ValueText(values[o]));
  }
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  const auto& cache = report.cache();
  table.AddRow({"device", report.device()});
  table.AddRow(
      {"compile",
       absl::StrCat(FormatMs(report.bind_ms() + report.compile_ms() + report.setup_ms()), " (",
                    cache.misses(), " programs compiled, ", cache.hits(), " from the cache)")});
  table.AddRow({"first answer", absl::StrCat("after ", FormatMs(report.first_answer_ms()))});
  table.AddRow({"latency", absl::StrCat(FormatMs(report.latency_ms()), ", ", report.kernels(), " ",
                                        report.tier() == "host" ? "" : report.tier() + " ",
                                        "kernels (first run ", FormatMs(report.first_ms()), ")")});
  const std::string compared = ComparisonText(report);
  return absl::StrCat(text, compared.empty() ? "" : "\n", compared, "\n", table.ToString());
}

// Runs once, and a second time to measure the latency when warm.
absl::StatusOr<std::vector<api::HostValue>> RunTwice(
    ModelSession& session, const std::map<std::string, api::HostValue>& inputs,
    const Stopwatch& since_start, proto::RunReport* report) {
  api::RunStatistics statistics;
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::HostValue> values,
                          session.RunValues(inputs, &statistics));
  report->set_first_answer_ms(since_start.Milliseconds());
  report->set_bind_ms(statistics.bind_ms);
  report->set_compile_ms(statistics.compile_ms);
  report->set_setup_ms(statistics.setup_ms);
  report->set_first_ms(statistics.latency_ms);
  report->set_latency_ms(statistics.latency_ms);
  report->set_kernels(statistics.kernels);
  report->set_tier(TierOf(statistics));
  AddTiers(statistics, report->mutable_tiers());
  report->mutable_cache()->set_hits(statistics.cache_hits);
  report->mutable_cache()->set_misses(statistics.cache_misses);
  if (statistics.latency_ms < kLongRunMs && session.repeats()) {
    api::RunStatistics second;
    TARTAN_RETURN_IF_ERROR(session.RunValues(inputs, &second).status());
    report->set_latency_ms(second.latency_ms);
  }
  return values;
}

// Inputs and outputs without the states; checked before a device is opened.
struct Given {
  std::map<std::string, api::HostValue> inputs;
  std::vector<api::TensorSpec> outputs;
  std::vector<OutputFile> files;
  std::vector<ExpectedOutput> expected;
};

absl::StatusOr<Given> MakeGiven(const api::Model& model, const RunOptions& options,
                                const Context& context) {
  Given given;
  TARTAN_ASSIGN_OR_RETURN(const api::FreeValues free, FreeOf(model, options.states));
  given.outputs = free.outputs;
  std::vector<std::string> names;
  for (const api::TensorSpec& output : free.outputs) names.push_back(output.name);
  TARTAN_ASSIGN_OR_RETURN(given.files, At(Stage::kUsage, ParseOutputFiles(options.outputs, names)));
  TARTAN_ASSIGN_OR_RETURN(given.expected, ReadExpectedOutputs(options.expected, free.outputs));
  TARTAN_ASSIGN_OR_RETURN(given.inputs, MakeModelInputs(free.inputs, options.inputs, context));
  return given;
}

absl::Status WriteFiles(const Given& given, const std::vector<api::HostValue>& values,
                        const Context& context) {
  for (const auto& [position, path] : given.files) {
    const std::string& name = given.outputs[position].name;
    // Uses the values of a map; its keys are in the report.
    const api::HostValue& value =
        values[position].is_map() ? values[position].values() : values[position];
    if (!value.is_tensor() || value.element() != api::Element::kPlain) {
      return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                   "output '", name, "' is ", Describe(values[position]),
                                   ": only tensors of numbers can be written")));
    }
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, WriteTensor(path, name, value.tensor())));
    context.Detail(absl::StrCat("wrote ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Run(RunOptions options, const Context& context) {
  options.inputs.open_is_one = options.inputs.random;
  proto::RunReport report;
  report.set_model(options.model);
  const Stopwatch since_start;
  TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(options.model));
  report.set_load_ms(since_start.Milliseconds());
  std::vector<std::string> labels;
  if (!options.labels.empty()) {
    TARTAN_ASSIGN_OR_RETURN(labels, At(Stage::kFile, ReadLines(options.labels)));
  }
  TARTAN_ASSIGN_OR_RETURN(const Given given, MakeGiven(*model, options, context));

  TARTAN_ASSIGN_OR_RETURN(const auto devices, context.OpenDevices());
  report.set_device(Describe(devices));
  TARTAN_ASSIGN_OR_RETURN(const auto session, ModelSession::Create(model, devices, options.states,
                                                                   context.session_options()));
  TARTAN_RETURN_IF_ERROR(NoteIdleDevices(*session, given.inputs, context));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> values,
                          At(Stage::kRun, RunTwice(*session, given.inputs, since_start, &report)));

  for (size_t o = 0; o < values.size(); ++o) {
    proto::RunReport::Output* output = report.add_outputs();
    FillOutput(given.outputs[o].name, values[o], output);
    AddTopScores(values[o], options, labels, output);
  }
  TARTAN_RETURN_IF_ERROR(WriteFiles(given, values, context));
  const bool is_expected =
      CompareWithExpected(given.expected, given.outputs, values, options.tolerance, &report);
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report, values)));
  return is_expected ? ExitCode::kDone : ExitCode::kComparisonFailed;
}

// Returns the option whose presence disables the tolerance by type.
const CLI::Option* AddExpectFlags(CLI::App* command, RunOptions* options) {
  CLI::Option* const expect = command
                                  ->add_option("--expect", options->expected,
                                               "NAME=@FILE: compare an output with a .npy or .pb "
                                               "file; the exit code is 1 if they differ")
                                  ->type_name("NAME=@FILE")
                                  ->allow_extra_args(false);
  Tolerance* const tolerance = &options->tolerance.tolerance;
  CLI::Option* const rtol = AddDouble(command, "--rtol", &tolerance->relative, 0, kMaxTolerance,
                                      "Relative tolerance of --expect");
  AddDouble(command, "--atol", &tolerance->absolute, 0, kMaxTolerance,
            "Absolute tolerance of --expect")
      ->needs(expect);
  return rtol->needs(expect);
}

}  // namespace

Command AddRun(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a model once");
  auto options = std::make_shared<RunOptions>();
  command->add_option("model", options->model, "ONNX model")->required()->type_name("MODEL");
  AddInputFlags(command, &options->inputs);
  command->add_flag("--random", options->inputs.random,
                    "Make inputs not named random, and sizes that the model leaves open 1");
  command->add_option("--output", options->outputs, "NAME=FILE: write an output as .npy or .pb")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  AddStateFlag(command, &options->states);
  const CLI::Option* rtol = AddExpectFlags(command, options.get());
  AddInteger(command, "--topk", &options->topk, 1, 1000000,
             "Show the top K of each row of the outputs")
      ->type_name("K");
  command->add_option("--labels", options->labels, "Names of the scores, one per line")
      ->type_name("FILE");
  command->footer(
      "Example:\n  tartan run examples/digits/digits.onnx "
      "--input x=@examples/digits/seven.png --topk 3");
  return {command, [options, rtol](const Context& context) {
            options->tolerance.by_type = rtol->count() == 0;
            return Run(*options, context);
          }};
}

}  // namespace tartan::cli
