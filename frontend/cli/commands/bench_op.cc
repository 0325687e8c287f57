// SPDX-License-Identifier: Apache-2.0
// tartan bench op: times single operators, compared with other libraries.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/bench/parse_problem.h"
#include "frontend/bench/run_problem.h"
#include "frontend/bench/threads.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

struct BenchOpOptions {
  std::vector<std::string> specs;
  std::vector<std::string> against;
  bench::MeasureOptions measure;
  int threads = 0;
};

void AddResults(const bench::ProblemResult& from, proto::BenchOpReport* report) {
  for (const bench::EngineResult& engine : from.engines) {
    proto::BenchOpReport::Result* result = report->add_results();
    result->set_spec(from.spec);
    result->set_engine(engine.engine);
    result->set_median_ms(engine.time.median_ms);
    result->set_min_ms(engine.time.min_ms);
    result->set_gflops(engine.gflops);
    result->set_gbps(engine.gbps);
    result->set_roofline(engine.roofline);
    result->set_runs(engine.time.runs);
    result->set_kernels(engine.kernels);
    result->set_flops(from.flops);
    result->set_bytes(from.bytes);
    result->set_max_error(engine.max_error);
    if (&engine == &from.engines.front()) result->set_compile_ms(from.compile_ms);
  }
}

// One row per engine; `speed` is Tartan's speed relative to it, above 1 if Tartan is faster.
std::string ToText(const proto::BenchOpReport& report) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"problem", "engine", "median", "GFLOP/s", "GB/s", "roofline", "tartan is",
                "kernels", "max error"});
  double tartan_ms = 0;
  for (const proto::BenchOpReport::Result& result : report.results()) {
    const bool is_tartan = result.engine() == "tartan";
    if (is_tartan) tartan_ms = result.median_ms();
    table.AddRow({is_tartan ? result.spec() : "", result.engine(),
                  absl::StrFormat("%.4f ms", result.median_ms()),
                  absl::StrFormat("%.1f", result.gflops()), absl::StrFormat("%.1f", result.gbps()),
                  result.roofline() > 0 ? absl::StrFormat("%.0f %%", 100 * result.roofline()) : "-",
                  is_tartan ? "" : absl::StrFormat("%.2f x", result.median_ms() / tartan_ms),
                  is_tartan ? absl::StrCat(result.kernels()) : "",
                  is_tartan ? "" : absl::StrFormat("%.1e", result.max_error())});
  }
  return absl::StrCat(report.device(), "\n", table.ToString());
}

absl::StatusOr<std::vector<std::string>> ParseEngines(const std::string& text) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, SplitList(text));
  const std::vector<std::string> known = bench::EngineNames();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not an engine of this build; the engines are ",
                     absl::StrJoin(known, ", ")));
  }
  return names;
}

absl::StatusOr<ExitCode> Run(const BenchOpOptions& options, const Context& context) {
  std::vector<bench::Problem> problems;
  for (const std::string& spec : options.specs) {
    TARTAN_ASSIGN_OR_RETURN(problems.emplace_back(), At(Stage::kUsage, bench::ParseProblem(spec)));
  }
  if (options.threads > 0) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, bench::LimitThreads(options.threads)));
  }
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  proto::BenchOpReport report;
  report.set_device(Describe(device->info()));
  report.set_threads(options.threads);
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings,
                          At(Stage::kDevice, device->MeasuredSettings()));
  report.set_peak_gflops(settings.gflops);
  report.set_peak_gbps(settings.gbps);
  for (const bench::Problem& problem : problems) {
    context.Detail(absl::StrCat("measuring ", problem.spec));
    absl::StatusOr<bench::ProblemResult> result =
        bench::RunProblem(problem, options.against, options.measure, *device);
    if (absl::IsDataLoss(result.status())) {
      context.Note(absl::StrCat("tartan: ", result.status().message()));
      return ExitCode::kComparisonFailed;
    }
    if (absl::IsNotFound(result.status())) return At(Stage::kUsage, result.status());
    TARTAN_RETURN_IF_ERROR(At(Stage::kRun, result.status()));
    for (const std::string& engine : result->missing) {
      context.Note(absl::StrCat(problem.spec, ": ", engine, " does not have this operation"));
    }
    AddResults(*result, &report);
  }
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddBenchOp(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("op", "Measure kernels of single operators");
  auto options = std::make_shared<BenchOpOptions>();
  command->add_option("specs", options->specs, "Operator and sizes")->required()->type_name("SPEC");
  const std::string engines = absl::StrJoin(bench::EngineNames(), ", ");
  command
      ->add_option_function<std::string>(
          "--against",
          [options](const std::string& text) {
            options->against = ValueOrThrow("--against", ParseEngines(text));
          },
          absl::StrCat("Engines to measure alternately: ", engines))
      ->type_name("ENGINE[,ENGINE]");
  AddDouble(command, "--time", &options->measure.seconds, 0, 86400,
            "Seconds to measure each engine for");
  AddInteger(command, "--count", &options->measure.count, 1, 10000000,
             "Number of measurements of each engine, instead of a time");
  AddInteger(command, "--threads", &options->threads, 1, 1024,
             "Threads for every engine, each on its own processor");
  command->footer(
      "bench/README.md describes the forms of SPEC. 'copy' moves as many bytes as the\n"
      "problem has: a lower bound for kernels bound by memory.\n\n"
      "Example:\n"
      "  tartan bench op conv:n1c64h56w56k64r3s1p1 matmul:m512n512k512 --against onednn --threads "
      "1");
  return {command, [options](const Context& context) { return Run(*options, context); }};
}

}  // namespace tartan::cli
