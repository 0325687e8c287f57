// SPDX-License-Identifier: Apache-2.0
// tartan verify: checks models against their published outputs.
#include <re2/re2.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/commands/tiers_report.h"
#include "frontend/cli/expectations.h"
#include "frontend/cli/file_io.h"
#include "frontend/cli/model_case.h"
#include "frontend/cli/number_options.h"
#include "frontend/cli/stopwatch.h"
#include "frontend/cli/terminal.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr char kPublished[] = "published";
constexpr char kFloat64[] = "float64";

struct VerifyOptions {
  std::vector<std::string> paths;
  Tolerance tolerance;
  bool has_tolerance = false;  // --rtol was given
  std::vector<std::string> shapes;
  std::string match;
  std::string expect;
  std::string write_expect;
  std::string reference = kPublished;
  int jobs = 0;  // 0: one per core
  bool bisect = false;
};

absl::StatusOr<std::unique_ptr<const RE2>> ParseMatch(const std::string& match) {
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_unique<const RE2>(match, options);
  if (expression->ok()) return expression;
  return absl::InvalidArgumentError(
      absl::StrCat("--match '", match, "' is not a regular expression: ", expression->error()));
}

// Collects the matching cases of all paths. A name found under several paths gets its path as a
// prefix.
absl::StatusOr<std::vector<ModelCase>> SelectCases(const VerifyOptions& options, const RE2& match) {
  std::vector<ModelCase> selected;
  std::map<std::string, int> times;
  for (const std::string& path : options.paths) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<ModelCase> found, FindCases(path));
    for (const ModelCase& model_case : found) {
      if (!RE2::PartialMatch(model_case.name, match)) continue;
      selected.push_back(model_case);
      ++times[model_case.name];
    }
  }
  for (ModelCase& model_case : selected) {
    if (times[model_case.name] > 1) model_case.name = model_case.folder;
  }
  return selected;
}

std::vector<CaseResult> RunAll(const std::vector<ModelCase>& cases, const CaseOptions& case_options,
                               const VerifyOptions& options, const Context& context) {
  std::vector<CaseResult> results(cases.size());
  Progress progress(!context.options().quiet, cases.size());
  std::atomic<size_t> next{0};
  std::mutex mutex;
  int64_t done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < cases.size(); i = next++) {
      results[i] = RunCase(cases[i], case_options);
      std::lock_guard<std::mutex> lock(mutex);
      progress.Show(++done, cases[i].name);
      context.Detail(
          absl::StrCat(Name(results[i].status), " ", cases[i].name, " ", FormatMs(results[i].ms)));
    }
  };
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t jobs = options.jobs > 0 ? options.jobs : cores;
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(jobs, cases.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return results;
}

// Adds to the message of each failed case the first node with wrong values.
void Bisect(const std::vector<ModelCase>& cases, const CaseOptions& options,
            std::vector<CaseResult>* results) {
  for (size_t i = 0; i < cases.size(); ++i) {
    CaseResult& result = (*results)[i];
    if (result.status != CaseStatus::kFail) continue;
    const absl::StatusOr<std::string> found = FindDeparture(cases[i], options);
    absl::StrAppend(&result.message, "; ",
                    found.ok() ? *found : absl::StrCat("bisecting: ", found.status().message()));
  }
}

void Fill(const Accuracy& accuracy, proto::VerifyReport::Errors* errors) {
  errors->set_elements(accuracy.elements);
  errors->set_max_abs_error(accuracy.max_abs_error);
  errors->set_max_ulps(accuracy.max_ulps);
  errors->set_rms_error(accuracy.rms_error);
  errors->set_beyond(accuracy.beyond);
}

void FillReport(const std::vector<ModelCase>& cases, const std::vector<CaseResult>& results,
                proto::VerifyReport* report) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseResult& result = results[i];
    proto::VerifyReport::Case* row = report->add_cases();
    row->set_name(cases[i].name);
    row->set_status(std::string(Name(result.status)));
    row->set_message(result.message);
    row->set_max_abs_error(result.max_abs_error);
    row->set_max_rel_error(result.max_rel_error);
    row->set_note(result.note);
    row->set_ms(result.ms);
    for (const OutputAccuracy& accuracy : result.accuracy) {
      proto::VerifyReport::Accuracy* output = row->add_accuracy();
      output->set_output(accuracy.output);
      Fill(accuracy.actual, output->mutable_actual());
      if (accuracy.published) Fill(*accuracy.published, output->mutable_published());
    }
    proto::CacheUse* cache = report->mutable_cache();
    cache->set_hits(cache->hits() + result.cache_hits);
    cache->set_misses(cache->misses() + result.cache_misses);
    api::RunStatistics programs;
    programs.exact_programs = result.exact_programs;
    programs.ready_programs = result.ready_programs;
    programs.host_programs = result.host_programs;
    AddTiers(programs, report->mutable_tiers());
    switch (result.status) {
      case CaseStatus::kPass:
        report->set_passed(report->passed() + 1);
        break;
      case CaseStatus::kUnsupported:
        report->set_skipped(report->skipped() + 1);
        break;
      case CaseStatus::kFail:
      case CaseStatus::kError:
        report->set_failed(report->failed() + 1);
        break;
    }
  }
}

std::vector<ActualStatus> StatusesOf(const proto::VerifyReport& report) {
  std::vector<ActualStatus> statuses;
  for (const auto& row : report.cases()) {
    statuses.push_back({row.name(), row.status(), row.message()});
  }
  return statuses;
}

absl::Status CompareWithList(const VerifyOptions& options, const RE2& match,
                             proto::VerifyReport* report) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                          At(Stage::kFile, ReadLines(options.expect)));
  absl::StatusOr<std::map<std::string, std::string>> expected = ParseExpectations(lines);
  if (!expected.ok()) {
    return At(Stage::kFile, absl::InvalidArgumentError(
                                absl::StrCat(options.expect, ": ", expected.status().message())));
  }
  // Cases excluded by --match do not count as missing.
  for (auto it = expected->begin(); it != expected->end();) {
    it = RE2::PartialMatch(it->first, match) ? std::next(it) : expected->erase(it);
  }
  for (const ExpectationDifference& difference : FindDifferences(*expected, StatusesOf(*report))) {
    proto::VerifyReport::Difference* row = report->add_differences();
    row->set_name(difference.name);
    row->set_expected(difference.expected);
    row->set_actual(difference.actual);
  }
  return absl::OkStatus();
}

// The first line of a message and the number of further lines; JSON output has the rest.
std::string FirstLine(const std::string& message) {
  const size_t end = message.find('\n');
  if (end == std::string::npos) return message;
  return absl::StrCat(message.substr(0, end), " (and ",
                      std::count(message.begin() + end, message.end(), '\n'), " more)");
}

std::string ToText(const proto::VerifyReport::Errors& errors) {
  return absl::StrFormat("%.3g ulp, RMS %.2g, %d of %d beyond", errors.max_ulps(),
                         errors.rms_error(), errors.beyond(), errors.elements());
}

std::string ToText(const proto::VerifyReport::Accuracy& accuracy) {
  std::string text = ToText(accuracy.actual());
  if (accuracy.has_published()) {
    absl::StrAppend(&text, "; published: ", ToText(accuracy.published()));
  }
  return text;
}

std::string ToText(const proto::VerifyReport& report, bool has_list) {
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  const bool few = report.cases_size() <= 50;
  for (const auto& row : report.cases()) {
    // A long run shows only problems; with a list, only differences from it.
    if (!few && (has_list || row.status() == "pass" || row.status() == "unsupported")) continue;
    std::string message = row.status() == "pass"
                              ? absl::StrFormat("max error %.2g", row.max_abs_error())
                              : FirstLine(row.message());
    if (!row.note().empty()) absl::StrAppend(&message, " (", row.note(), ")");
    table.AddRow({row.status(), row.name(), message});
    for (const auto& accuracy : row.accuracy()) {
      table.AddRow({"", absl::StrCat("  ", accuracy.output()), ToText(accuracy)});
    }
  }
  std::string text = table.ToString();
  for (const auto& row : report.differences()) {
    absl::StrAppend(&text, "DIFFERS ", row.name(), ": expected ", row.expected(), ", is ",
                    row.actual(), "\n");
    for (const auto& model_case : report.cases()) {
      if (model_case.name() == row.name() && !model_case.message().empty()) {
        absl::StrAppend(&text, "        ", FirstLine(model_case.message()), "\n");
      }
    }
  }
  return absl::StrCat(text, report.passed(), " passed, ", report.failed(), " failed, ",
                      report.skipped(), " skipped (not supported) in ", FormatMs(report.total_ms()),
                      "\n");
}

ExitCode Verdict(const proto::VerifyReport& report, bool has_list) {
  if (has_list) {
    return report.differences().empty() ? ExitCode::kDone : ExitCode::kComparisonFailed;
  }
  if (report.failed() > 0) return ExitCode::kComparisonFailed;
  return report.passed() == 0 && report.skipped() > 0 ? ExitCode::kModel : ExitCode::kDone;
}

absl::StatusOr<ExitCode> Run(const VerifyOptions& options, const Context& context) {
  const Stopwatch total;
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<const RE2> match,
                          At(Stage::kUsage, ParseMatch(options.match)));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<ModelCase> cases,
                          At(Stage::kFile, SelectCases(options, *match)));
  if (cases.empty()) {
    return At(Stage::kUsage,
              absl::NotFoundError(absl::StrCat("--match '", options.match, "' matches no case")));
  }
  if (!options.write_expect.empty()) {
    TARTAN_RETURN_IF_ERROR(At(Stage::kFile, CheckWritable(options.write_expect)));
  }
  TARTAN_ASSIGN_OR_RETURN(const auto device, context.OpenDevice());
  proto::VerifyReport report;
  report.set_device(Describe(device->info()));
  CaseOptions case_options;
  case_options.device = device;
  case_options.session = context.session_options();
  case_options.shapes = options.shapes;
  case_options.tolerance = options.tolerance;
  case_options.tolerance_by_type = !options.has_tolerance;
  if (options.reference == kFloat64) {
    TARTAN_ASSIGN_OR_RETURN(case_options.exact_device, At(Stage::kDevice, device->InFloat64()));
  }
  std::vector<CaseResult> results = RunAll(cases, case_options, options, context);
  if (options.bisect) Bisect(cases, case_options, &results);
  FillReport(cases, results, &report);
  report.set_total_ms(total.Milliseconds());
  const bool has_list = !options.expect.empty();
  if (has_list) TARTAN_RETURN_IF_ERROR(CompareWithList(options, *match, &report));
  if (!options.write_expect.empty()) {
    TARTAN_RETURN_IF_ERROR(
        At(Stage::kFile, WriteFile(options.write_expect, FormatExpectations(StatusesOf(report)))));
  }
  TARTAN_RETURN_IF_ERROR(context.Print(report, ToText(report, has_list)));
  return Verdict(report, has_list);
}

}  // namespace

Command AddVerify(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("verify", "Compare the outputs of models with their published outputs");
  auto options = std::make_shared<VerifyOptions>();
  command
      ->add_option("path", options->paths,
                   "Folders with model.onnx and test_data_set_*, or trees of them")
      ->required()
      ->type_name("PATH");
  const CLI::Option* rtol = AddDouble(command, "--rtol", &options->tolerance.relative, 0,
                                      kMaxTolerance, "Relative tolerance");
  AddDouble(command, "--atol", &options->tolerance.absolute, 0, kMaxTolerance,
            "Absolute tolerance");
  command
      ->add_option("--reference", options->reference,
                   "Compare with the model's published outputs, or with a run in float64, which "
                   "measures the errors of both")
      ->check(CLI::IsMember({kPublished, kFloat64}))
      ->capture_default_str();
  AddShapeFlag(command, &options->shapes);
  command->add_option("--match", options->match, "Only cases whose name holds a match of REGEX")
      ->type_name("REGEX");
  command
      ->add_option("--expect", options->expect, "List of expected statuses: any difference fails")
      ->type_name("FILE");
  command->add_option("--write-expect", options->write_expect, "Write the list of statuses")
      ->type_name("FILE");
  command->add_flag(
      "--bisect", options->bisect,
      "For a failing case, name the first node whose result departs from the naive evaluator's");
  AddInteger(command, "--jobs", &options->jobs, 1, 1024,
             "Number of cases at once; default: one per core");
  command->footer("Example:\n  tartan verify models/ --atol 1e-5 --match 'conv|pool'");
  return {command, [options, rtol](const Context& context) {
            options->has_tolerance = rtol->count() > 0;
            return Run(*options, context);
          }};
}

}  // namespace tartan::cli
