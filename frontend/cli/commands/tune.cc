// SPDX-License-Identifier: Apache-2.0
// tartan tune: measures plans of a model's kernels and stores the best for later runs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "frontend/api/session.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/program_cache.h"
#include "tile/evaluator/tune_kernel.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/stored_plan.h"
#include "tile/plan/store/tuning_database.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::cli {
namespace {

using Inputs = std::map<std::string, api::HostValue>;

struct TuneFlags {
  std::string model;
  InputOptions inputs;
  evaluator::TuneOptions tuning;
};

// A kernel of the model as input to the planner.
struct FoundKernel {
  poly::FlatContraction flat;
  plan::LaunchContext launch;
  int uses = 1;
};

// Collects the distinct kernels of a compilation with the cost model's plans. Kernels that run
// once, because they depend on weights only, are skipped.
class KernelCollector {
 public:
  explicit KernelCollector(const HardwareSettings& settings) : settings_(settings) {}

  plan::PlannedKernel Plan(const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    const std::vector<bool>& is_constant = launch.is_constant;
    const bool is_setup =
        std::all_of(is_constant.begin(), is_constant.end(), [](bool c) { return c; });
    if (!is_setup && flat.output_point_count() > 0) {
      const std::string form = plan::KernelForm(poly::MergeIndices(flat), is_constant);
      const auto [it, is_new] = by_form_.emplace(form, found_.size());
      if (is_new) found_.push_back({flat, launch});
      if (!is_new) ++found_[it->second].uses;
    }
    return plan::PlanKernel(flat, settings_, launch);
  }

  const std::vector<FoundKernel>& found() const { return found_; }

 private:
  const HardwareSettings settings_;
  std::vector<FoundKernel> found_;
  std::map<std::string, size_t> by_form_;
};

// Tunes one kernel and stores the best plan immediately, so that an interruption loses nothing.
absl::Status Tune(const FoundKernel& kernel, const evaluator::TuneOptions& options,
                  api::Device& device, proto::TuneReport::Kernel* report) {
  report->set_name(kernel.flat.name);
  report->set_uses(kernel.uses);
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device.MeasuredSettings());
  TARTAN_ASSIGN_OR_RETURN(const evaluator::TunedKernel tuned,
                          evaluator::TuneKernel(kernel.flat, kernel.launch, device.hal(),
                                                opencl::DialectOf(settings), options));
  report->set_before_ms(tuned.before_ms);
  report->set_after_ms(tuned.after_ms);
  report->set_tried(tuned.tried);
  for (const std::string& problem : tuned.problems) report->add_problems(problem);
  bool kept = false;
  TARTAN_RETURN_IF_ERROR(At(Stage::kFile, device.UpdatePlans([&](plan::TuningDatabase* database) {
    if (!tuned.winner.has_value()) return database->Forget(kernel.flat, kernel.launch.is_constant);
    kept = database->Keep(kernel.flat, settings, kernel.launch.is_constant, *tuned.winner,
                          tuned.after_ms, tuned.before_ms);
  })));
  report->set_kept(kept);
  if (!kept) report->set_after_ms(tuned.before_ms);
  const plan::PlannedKernel planned =
      kept ? *tuned.winner : plan::PlanKernel(kernel.flat, settings, kernel.launch);
  report->set_plan(plan::ToString(planned.plan, planned.flat));
  return absl::OkStatus();
}

// Runs the model alternately with the cost model's plans and with the stored plans.
absl::Status CompareRuns(api::Session& before, api::Session& after, const Inputs& inputs,
                         proto::TuneReport* report) {
  constexpr int kMinTurns = 5;
  constexpr int kMaxTurns = 200;
  constexpr double kMaxMs = 2000;
  TARTAN_RETURN_IF_ERROR(before.RunValues(inputs).status());
  TARTAN_RETURN_IF_ERROR(after.RunValues(inputs).status());
  std::vector<double> samples[2];
  const Stopwatch total;
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    if (turn >= kMinTurns && total.Milliseconds() > kMaxMs) break;
    for (int which : {0, 1}) {
      const Stopwatch one;
      TARTAN_RETURN_IF_ERROR((which == 0 ? before : after).RunValues(inputs).status());
      samples[which].push_back(one.Milliseconds());
    }
  }
  report->set_before_ms(Summarize(samples[0]).median);
  report->set_after_ms(Summarize(samples[1]).median);
  return absl::OkStatus();
}

std::string ToText(const proto::TuneReport& report) {
  std::string text =
      absl::StrCat(report.model(), " on ", report.device(), ", ", report.tier(), " kernels\n");
  using Align = Table::Align;
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"before", "after", "gain", "tried", "uses", "kernel"});
  int kept = 0;
  int skipped = 0;
  for (const proto::TuneReport::Kernel& kernel : report.kernels()) {
    const bool measured = kernel.tried() > 0;
    kept += kernel.kept();
    skipped += kernel.problems_size();
    table.AddRow({measured ? FormatMs(kernel.before_ms()) : "-",
                  kernel.kept() ? FormatMs(kernel.after_ms()) : "-",
                  kernel.kept() ? absl::StrFormat(
                                      "%.0f %%", 100 * (kernel.before_ms() / kernel.after_ms() - 1))
                                : "",
                  absl::StrCat(kernel.tried()), absl::StrCat(kernel.uses()), kernel.name()});
  }
  absl::StrAppend(&text, table.ToString("  "), "kept ", kept, " plans of ", report.kernels_size(),
                  " kernels in ", FormatSeconds(report.total_ms() / 1000),
                  "; the model: ", FormatMs(report.before_ms()), " before, ",
                  FormatMs(report.after_ms()), " after\n");
  if (skipped > 0) {
    absl::StrAppend(&text, skipped, " plans were skipped; -v shows why\n");
  }
  return text;
}

// Tunes every kernel. Failures are recorded and skipped, unless every kernel fails.
absl::Status TuneAll(const std::vector<FoundKernel>& kernels, const TuneFlags& flags,
                     api::Device& device, const Context& context, proto::TuneReport* report) {
  Progress progress(!context.options().quiet, static_cast<int64_t>(kernels.size()));
  absl::Status failure;
  size_t failed = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    progress.Show(static_cast<int64_t>(k), kernels[k].flat.name);
    proto::TuneReport::Kernel* kernel = report->add_kernels();
    const absl::Status tuned = Tune(kernels[k], flags.tuning, device, kernel);
    if (!tuned.ok()) {
      if (ExitCodeFor(tuned) == ExitCode::kFile) return tuned;
      failure = tuned;
      ++failed;
      kernel->add_problems(std::string(tuned.message()));
    }
    for (const std::string& problem : kernel->problems()) {
      context.Detail(absl::StrCat(kernel->name(), ": ", problem));
    }
  }
  return failed == kernels.size() ? failure : absl::OkStatus();
}

absl::StatusOr<ExitCode> Run(TuneFlags flags, const Context& context) {
  if (context.options().tier == api::Tier::kReady) {
    return At(Stage::kUsage,
              absl::InvalidArgumentError("--tier ready: only plans of exact kernels can be tuned"));
  }
  flags.inputs.random = true;
  flags.inputs.open_is_one = true;
  TARTAN_ASSIGN_OR_RETURN(const auto model, context.LoadModel(flags.model));
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  TARTAN_ASSIGN_OR_RETURN(const auto inputs,
                          MakeModelInputs(model->inputs(), flags.inputs, context));
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings,
                          At(Stage::kDevice, device->MeasuredSettings()));
  const auto collector = std::make_shared<KernelCollector>(settings);
  compiler::CompileHooks hooks;
  hooks.planner = [collector](const poly::FlatContraction& flat,
                              const plan::LaunchContext& launch) {
    return collector->Plan(flat, launch);
  };
  api::SessionOptions exact = context.session_options();
  exact.tier = api::Tier::kExact;
  TARTAN_ASSIGN_OR_RETURN(
      const auto before,
      At(Stage::kRun, api::Session::Create(model, device->With(std::move(hooks)), exact)));
  const Stopwatch total;
  TARTAN_RETURN_IF_ERROR(At(Stage::kRun, before->RunValues(inputs).status()));
  const std::vector<FoundKernel>& kernels = collector->found();
  if (!context.options().use_disk_cache) {
    context.Note("tartan: with --no-cache no plan is kept for later runs");
  }
  proto::TuneReport report;
  report.set_model(flags.model);
  report.set_device(Describe(device->info()));
  report.set_tier(std::string(api::Name(exact.tier)));
  TARTAN_RETURN_IF_ERROR(At(Stage::kRun, TuneAll(kernels, flags, *device, context, &report)));
  report.set_total_ms(total.Milliseconds());
  // A separate session, so that the model is compiled again.
  TARTAN_ASSIGN_OR_RETURN(const auto after,
                          At(Stage::kRun, api::Session::Create(model, device, exact)));
  TARTAN_RETURN_IF_ERROR(At(Stage::kRun, CompareRuns(*before, *after, inputs, &report)));
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddTune(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("tune", "Measure plans of a model's kernels, and keep the best");
  auto flags = std::make_shared<TuneFlags>();
  command->add_option("model", flags->model, "ONNX model")->type_name("MODEL")->required();
  AddInputFlags(command, &flags->inputs);
  AddInteger(command, "--batch", &flags->inputs.batch, 1, 1000000,
             "The first dimension of inputs, if the model leaves it open");
  AddInteger(command, "--top", &flags->tuning.candidates, 1, 1000,
             "Number of plans to try per kernel")
      ->default_str(absl::StrCat(flags->tuning.candidates));
  AddDouble(command, "--time", &flags->tuning.seconds, 0, 3600, "Seconds to measure a kernel for");
  AddInteger(command, "--count", &flags->tuning.rounds, 1, 100000,
             "Number of measurements of each plan in the last round, instead of a time");
  command->footer(
      "The disk cache keeps a plan if it is faster than the cost model's choice by more than\n"
      "noise and computes the same. Later runs on this device use it. An interruption keeps the\n"
      "plans found so far. Sizes that the model leaves open are 1 unless --shape or --batch fixes\n"
      "them; each set of sizes has its own plans.\n\n"
      "Example:\n"
      "  tartan tune examples/digits/digits.onnx --top 4 --time 0.2");
  return {command, [flags](const Context& context) { return Run(*flags, context); }};
}

}  // namespace tartan::cli
