// SPDX-License-Identifier: Apache-2.0
// tartan bench: the latency of a model.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/bench/threads.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/commands/model_session.h"
#include "frontend/cli/commands/operator_sums.h"
#include "frontend/cli/commands/profile.h"
#include "frontend/cli/commands/tiers_report.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/describe/describe_fusion.h"

namespace tartan::cli {
namespace {

struct BenchOptions {
  std::string model;
  InputOptions inputs;
  std::vector<std::string> states;  // PRESENT=PAST
  int64_t warmup = 3;
  double seconds = 2;
  int64_t count = 0;  // 0: as many as fit into `seconds`
  std::vector<int64_t> batches;
  int threads = 0;  // 0: the device's default
  bool profile = false;
  bool explain = false;
  bool check_cost = false;
  bool background = false;
  bool on_device = false;
};

constexpr int64_t kMaxSamples = 10'000'000;

double PeakHostBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The sum of the devices' peaks.
double PeakDeviceBytes(const ModelSession& session) {
  double bytes = 0;
  for (const auto& device : session.devices()) {
    bytes += static_cast<double>(device->hal()->statistics().peak_allocated_bytes);
  }
  return bytes;
}

using Inputs = std::map<std::string, api::HostValue>;

absl::StatusOr<double> TimeOne(ModelSession& session, const Inputs& inputs) {
  const Stopwatch one;
  TARTAN_RETURN_IF_ERROR(session.RunValues(inputs).status());
  return one.Milliseconds();
}

// Returns the times of each session's runs. The sessions run alternately, in rotating order, so
// that disturbances of the machine affect all of them alike.
absl::StatusOr<std::vector<std::vector<double>>> Measure(const std::vector<ModelSession*>& sessions,
                                                         const Inputs& inputs,
                                                         const BenchOptions& options) {
  for (int64_t i = 0; i < options.warmup; ++i) {
    for (ModelSession* session : sessions) {
      TARTAN_RETURN_IF_ERROR(session->RunValues(inputs).status());
    }
  }
  std::vector<std::vector<double>> samples(sessions.size());
  const size_t most = static_cast<size_t>(options.count > 0 ? options.count : kMaxSamples);
  const Stopwatch total;
  do {
    const size_t turn = samples[0].size();
    for (size_t i = 0; i < sessions.size(); ++i) {
      const size_t which = (turn + i) % sessions.size();
      TARTAN_ASSIGN_OR_RETURN(samples[which].emplace_back(), TimeOne(*sessions[which], inputs));
    }
  } while (samples[0].size() < most &&
           (options.count > 0 || total.Milliseconds() < 1000 * options.seconds));
  return samples;
}

// The relative cost of the checks, from times measured alternately.
double CheckCost(const std::vector<double>& checked, const std::vector<double>& unchecked) {
  std::vector<double> differences;
  for (size_t i = 0; i < checked.size(); ++i) differences.push_back(checked[i] - unchecked[i]);
  return Summarize(std::move(differences)).median / Summarize(unchecked).median;
}

bool IsExact(const api::RunStatistics& run) { return run.ready_programs + run.host_programs == 0; }

// Runs the model until the background has made its kernels exact, and reports the times of these
// runs.
absl::Status RunUntilExact(ModelSession& session, const Inputs& inputs,
                           proto::BenchReport* report) {
  constexpr double kMaxMs = 600'000;
  std::vector<double> samples;
  const Stopwatch waiting;
  for (bool is_exact = false; !is_exact;) {
    if (waiting.Milliseconds() > kMaxMs) {
      return absl::DeadlineExceededError(
          "the background has not compiled exact kernels within 10 minutes");
    }
    api::RunStatistics run;
    const Stopwatch one;
    TARTAN_RETURN_IF_ERROR(session.RunValues(inputs, &run).status());
    is_exact = IsExact(run);
    if (!is_exact) samples.push_back(one.Milliseconds());
  }
  report->set_meanwhile_runs(static_cast<int>(samples.size()));
  if (samples.empty()) return absl::OkStatus();
  const LatencySummary summary = Summarize(std::move(samples));
  report->set_meanwhile_median_ms(summary.median);
  report->set_meanwhile_mean_ms(summary.mean);
  return absl::OkStatus();
}

// Waits until a run has exact (shape-specialised) kernels, unless the user has chosen another tier.
// `last` and the result are the statistics of the previous run and of a later run.
absl::StatusOr<api::RunStatistics> WaitForExact(const std::vector<ModelSession*>& sessions,
                                                const Inputs& inputs, api::RunStatistics last,
                                                const BenchOptions& options, const Context& context,
                                                proto::BenchReport* report) {
  // A run of a graph that values decide may take a new path. This limits the number of attempts.
  constexpr int kMaxPaths = 8;
  const bool waits = context.options().tier == api::Tier::kAuto && !IsExact(last);
  const Stopwatch waiting;
  if (waits) context.Detail("waiting for the exact kernels");
  if (waits && options.background) {
    TARTAN_RETURN_IF_ERROR(RunUntilExact(*sessions.front(), inputs, report));
  }
  for (int way = 0; waits && !IsExact(last) && way < kMaxPaths; ++way) {
    for (ModelSession* session : sessions) TARTAN_RETURN_IF_ERROR(session->WaitForExact());
    last = api::RunStatistics();
    TARTAN_RETURN_IF_ERROR(sessions.front()->RunValues(inputs, &last).status());
  }
  if (waits) report->set_exact_ms(waiting.Milliseconds());
  report->set_tier(TierOf(last));
  if (waits && !IsExact(last)) {
    context.Note(absl::StrCat("warning: the measured kernels are ", report->tier(),
                              ", not exact: each run takes another path through the model"));
  }
  return last;
}

// Adds each launch with accepted and refused fusions.
absl::Status Explain(ModelSession& session, proto::BenchReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::ProgramReport> programs, session.Explain());
  for (const api::ProgramReport& program : programs) {
    const std::string text = compiler::FusionText(program.fusion);
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      report->add_fusion(std::string(line));
    }
  }
  return absl::OkStatus();
}

// Adds what the other session measured: one without checks, or on one device.
void AddOther(const std::vector<std::vector<double>>& samples, int64_t rows, bool is_unchecked,
              proto::BenchReport* report) {
  const LatencySummary other = Summarize(samples[1]);
  if (is_unchecked) {
    report->set_unchecked_median_ms(other.median);
    report->set_check_cost(CheckCost(samples[0], samples[1]));
  } else {
    report->set_one_device_median_ms(other.median);
    report->set_one_device_throughput(1000 * static_cast<double>(rows) / other.mean);
  }
}

// Measures one batch size; 0 keeps the model's sizes. `other`, if not null, is measured
// alternately: without checks, or on the first of several devices.
absl::Status Bench(const std::vector<onnx::NodeSummary>& nodes, ModelSession& session,
                   ModelSession* other, const BenchOptions& options, int64_t batch,
                   const Stopwatch& since_start, const Context& context,
                   proto::BenchReport* report) {
  InputOptions input_options = options.inputs;
  input_options.batch = batch;
  TARTAN_ASSIGN_OR_RETURN(Inputs inputs, MakeModelInputs(session.inputs(), input_options, context));
  TARTAN_RETURN_IF_ERROR(NoteIdleDevices(session, inputs, context));
  api::RunStatistics first;
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::HostValue> results, session.RunValues(inputs, &first));
  if (!session.repeats()) {
    return At(Stage::kUsage, absl::UnimplementedError(
                                 "the states change their sizes from run to run, so that runs are "
                                 "not comparable; tartan generate measures decoders"));
  }
  report->set_first_ms(since_start.Milliseconds());
  report->set_first_tier(TierOf(first));
  api::RunStatistics before = first;  // statistics of a run like the measured ones
  if (options.on_device) {
    TARTAN_RETURN_IF_ERROR(session.KeepOnDevice(inputs, results));
    inputs.clear();
    // Binding memory makes another program, which needs its own exact kernels.
    before = api::RunStatistics();
    TARTAN_RETURN_IF_ERROR(session.RunValues(inputs, &before).status());
  }
  results.clear();  // frees memory that the next run can reuse
  std::vector<ModelSession*> sessions = {&session};
  if (other != nullptr) {
    sessions.push_back(other);
    TARTAN_RETURN_IF_ERROR(other->RunValues(inputs).status());
  }
  TARTAN_ASSIGN_OR_RETURN(const api::RunStatistics measured,
                          WaitForExact(sessions, inputs, before, options, context, report));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> samples,
                          Measure(sessions, inputs, options));
  const LatencySummary summary = Summarize(samples[0]);
  report->set_batch(batch);
  report->set_median_ms(summary.median);
  report->set_p90_ms(summary.p90);
  report->set_p99_ms(summary.p99);
  report->set_min_ms(summary.min);
  report->set_mean_ms(summary.mean);
  report->set_runs(samples[0].size());
  const int64_t rows = std::max<int64_t>(batch, 1);
  if (other != nullptr) AddOther(samples, rows, options.check_cost, report);
  report->set_devices(static_cast<int>(session.devices().size()));
  report->set_throughput(1000 * static_cast<double>(rows) / summary.mean);
  report->set_compile_ms(first.bind_ms + first.compile_ms + first.setup_ms);
  report->set_kernels(measured.kernels);
  report->mutable_cache()->set_hits(first.cache_hits);
  report->mutable_cache()->set_misses(first.cache_misses);
  report->set_peak_device_bytes(PeakDeviceBytes(session));
  report->set_peak_host_bytes(PeakHostBytes());
  if (options.explain) TARTAN_RETURN_IF_ERROR(Explain(session, report));
  if (!options.profile) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(Profile(session, inputs, report));
  SumByOperators(nodes, report->profile(), report->mutable_operators());
  return absl::OkStatus();
}

std::string BatchText(const proto::BenchReport& report) {
  Table table({Table::Align::kLeft, Table::Align::kRight});
  table.AddRow({"median", FormatMs(report.median_ms())});
  table.AddRow({"90 %", FormatMs(report.p90_ms())});
  table.AddRow({"99 %", FormatMs(report.p99_ms())});
  table.AddRow({"minimum", FormatMs(report.min_ms())});
  table.AddRow({"mean", FormatMs(report.mean_ms())});
  table.AddRow({"runs", absl::StrCat(report.runs())});
  if (report.unchecked_median_ms() > 0) {
    table.AddRow({"unchecked", FormatMs(report.unchecked_median_ms())});
    table.AddRow({"checks cost", absl::StrFormat("%.1f %%", 100 * report.check_cost())});
  }
  table.AddRow({"throughput", absl::StrFormat("%.1f/s", report.throughput())});
  if (report.one_device_throughput() > 0) {
    table.AddRow({"one device", absl::StrFormat("%.1f/s, median %s", report.one_device_throughput(),
                                                FormatMs(report.one_device_median_ms()))});
    table.AddRow({"all to one",
                  absl::StrFormat("%.2f", report.throughput() / report.one_device_throughput())});
  }
  table.AddRow({"compile", FormatMs(report.compile_ms())});
  table.AddRow({"first answer", FormatMs(report.first_ms())});
  if (report.exact_ms() > 0) {
    table.AddRow({"exact kernels", absl::StrCat(FormatMs(report.exact_ms()), " later")});
  }
  if (report.meanwhile_runs() > 0) {
    table.AddRow({"meanwhile", absl::StrCat("median ", FormatMs(report.meanwhile_median_ms()),
                                            ", mean ", FormatMs(report.meanwhile_mean_ms()))});
  }
  table.AddRow({"kernels", absl::StrCat(report.kernels(), " ", report.tier())});
  table.AddRow({"device memory", FormatBytes(report.peak_device_bytes())});
  table.AddRow({"host memory", FormatBytes(report.peak_host_bytes())});
  std::string text = table.ToString("  ");
  if (!report.profile().empty())
    absl::StrAppend(&text, ProfileText(report.profile()), "\n", OperatorsText(report.operators()));
  if (!report.fusion().empty()) {
    absl::StrAppend(&text, absl::StrJoin(report.fusion(), "\n"), "\n");
  }
  return text;
}

std::string ToText(const proto::BenchReport& report) {
  std::string text = absl::StrCat(report.model(), " on ", report.device(), ", loaded in ",
                                  FormatMs(report.load_ms()), "\n");
  if (report.batches().empty()) {
    if (report.batch() > 0) absl::StrAppend(&text, "batch ", report.batch(), "\n");
    return text + BatchText(report);
  }
  for (const proto::BenchReport& batch : report.batches()) {
    absl::StrAppend(&text, "batch ", batch.batch(), "\n", BatchText(batch));
  }
  return text;
}

absl::StatusOr<ExitCode> Run(BenchOptions options, const Context& context) {
  if (options.model.empty()) {
    return At(Stage::kUsage,
              absl::InvalidArgumentError("MODEL is required (see tartan bench --help)"));
  }
  if (options.on_device && (options.check_cost || options.batches.size() > 1)) {
    return At(Stage::kUsage, absl::InvalidArgumentError(
                                 "--on-device takes neither --check-cost nor several batch sizes"));
  }
  const bool has_several = absl::StrContains(context.options().device, ',');
  if (has_several && (options.check_cost || options.profile || options.explain)) {
    return At(Stage::kUsage,
              absl::InvalidArgumentError("--check-cost, --profile and --explain take "
                                         "one device, not several"));
  }
  if (options.threads > 0) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, bench::LimitThreads(options.threads)));
  }
  options.inputs.random = true;
  options.inputs.open_is_one = true;
  Stopwatch since_start;
  TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(options.model));
  const double load_ms = since_start.Milliseconds();
  TARTAN_ASSIGN_OR_RETURN(const auto devices, context.OpenDevices());
  api::SessionOptions session_options = context.session_options();
  session_options.exact_after_runs = options.background ? 1 : 0;
  session_options.exact_lost_share = 0;
  TARTAN_ASSIGN_OR_RETURN(
      const auto session,
      ModelSession::Create(model, devices, options.states, session_options, options.on_device));
  std::unique_ptr<ModelSession> other;
  if (options.check_cost || devices.size() > 1) {
    api::SessionOptions other_options = context.session_options();
    other_options.unchecked |= options.check_cost;
    TARTAN_ASSIGN_OR_RETURN(
        other, ModelSession::Create(model, {devices[0]}, options.states, other_options));
  }
  if (options.batches.empty()) options.batches = {0};
  std::vector<proto::BenchReport> results;
  for (const int64_t batch : options.batches) {
    context.Detail(absl::StrCat("measuring batch ", batch));
    if (!results.empty()) since_start = Stopwatch();
    proto::BenchReport& result = results.emplace_back();
    result.set_model(options.model);
    result.set_device(Describe(devices));
    result.set_load_ms(load_ms);
    TARTAN_RETURN_IF_ERROR(At(Stage::kRun, Bench(model->Nodes(), *session, other.get(), options,
                                                 batch, since_start, context, &result)));
  }
  proto::BenchReport report = results.front();
  if (results.size() > 1) report.mutable_batches()->Add(results.begin(), results.end());
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure the latency of a model");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("model", options->model, "ONNX model")->type_name("MODEL");
  AddInputFlags(command, &options->inputs);
  AddStateFlag(command, &options->states);
  AddInteger(command, "--warmup", &options->warmup, 0, 1000000, "Runs before measuring")
      ->default_str(absl::StrCat(options->warmup));
  AddDouble(command, "--time", &options->seconds, 0, 86400, "Seconds to measure for");
  AddInteger(command, "--count", &options->count, 1, kMaxSamples,
             "Number of runs to measure, instead of a time");
  AddIntegers(command, "--batch", &options->batches, 1, 1000000,
              "The first dimension of inputs, if the model leaves it open");
  AddInteger(command, "--threads", &options->threads, 1, 1024,
             "Threads of a CPU device, each on its own processor");
  command->add_flag(
      "--random", options->inputs.random,
      "The default: inputs not named are random, sizes that the model leaves open are 1");
  command->add_flag("--profile", options->profile, "Also time every kernel, with sums by operator");
  command->add_flag("--explain", options->explain,
                    "Say what each launch fuses, and why it is separate from those it reads");
  command->add_flag("--check-cost", options->check_cost,
                    "Also measure, alternately, a session that does not check indices");
  command->add_flag(
      "--background", options->background,
      "Keep running while the background compiles exact kernels, and report those runs");
  command->add_flag("--on-device", options->on_device,
                    "Keep inputs and outputs on the device: nothing is copied");
  const Command op = AddBenchOp(*command);
  command->footer(
      "Inputs not named are random. Sizes that the model leaves open are 1 unless --shape or\n"
      "--batch fixes them.\n\n"
      "Example:\n"
      "  tartan bench examples/digits/digits.onnx --batch 1,16 --time 1");
  return {command, [options, op](const Context& context) {
            return op.app->parsed() ? op.run(context) : Run(*options, context);
          }};
}

}  // namespace tartan::cli
