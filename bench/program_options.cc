// SPDX-License-Identifier: Apache-2.0
#include "bench/program_options.h"

#include <re2/re2.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontend/bench/run_problem.h"
#include "frontend/bench/threads.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

absl::Status CheckEngines(const std::vector<std::string>& engines) {
  const std::vector<std::string> known = EngineNames();
  for (const std::string& engine : engines) {
    if (std::find(known.begin(), known.end(), engine) != known.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no engine '", engine, "'; the engines are ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

// Returns true if the argument is one of these options, and an error for an invalid value.
absl::StatusOr<bool> Take(absl::string_view argument, ProgramOptions* options) {
  const auto invalid = [argument] {
    return absl::InvalidArgumentError(
        absl::StrCat(argument, ": the number is invalid or out of range"));
  };
  if (absl::ConsumePrefix(&argument, "--list=")) {
    options->list = std::string(argument);
  } else if (absl::ConsumePrefix(&argument, "--filter=")) {
    options->filter = std::string(argument);
  } else if (absl::ConsumePrefix(&argument, "--device=")) {
    options->device = std::string(argument);
  } else if (absl::ConsumePrefix(&argument, "--against=")) {
    options->against = absl::StrSplit(argument, ',', absl::SkipEmpty());
    TARTAN_RETURN_IF_ERROR(CheckEngines(options->against));
  } else if (absl::ConsumePrefix(&argument, "--threads=")) {
    if (!absl::SimpleAtoi(argument, &options->threads) || options->threads < 1) return invalid();
  } else if (absl::ConsumePrefix(&argument, "--time=")) {
    if (!absl::SimpleAtod(argument, &options->seconds) || options->seconds < 0) return invalid();
  } else {
    return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ProgramOptions> TakeOptions(int* argc, char** argv) {
  ProgramOptions options;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    TARTAN_ASSIGN_OR_RETURN(const bool is_taken, Take(argv[i], &options));
    if (!is_taken) argv[kept++] = argv[i];
  }
  *argc = kept;
  return options;
}

absl::StatusOr<std::vector<ProblemSection>> ReadProblems(const ProgramOptions& options) {
  std::ifstream file(options.list);
  if (!file) return absl::NotFoundError(absl::StrCat(options.list, " cannot be read"));
  std::stringstream text;
  text << file.rdbuf();
  TARTAN_ASSIGN_OR_RETURN(std::vector<ProblemSection> sections,
                          ParseProblemList(text.str(), options.list));
  RE2::Options expression_options;
  expression_options.set_log_errors(false);
  const RE2 filter(options.filter, expression_options);
  if (!filter.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--filter=", options.filter, ": ", filter.error()));
  }
  for (ProblemSection& section : sections) {
    std::vector<Problem> kept;
    for (Problem& problem : section.problems) {
      if (RE2::PartialMatch(problem.spec, filter)) kept.push_back(std::move(problem));
    }
    section.problems = std::move(kept);
  }
  return sections;
}

absl::StatusOr<std::shared_ptr<api::Device>> OpenDevice(const ProgramOptions& options) {
  if (options.threads > 0) TARTAN_RETURN_IF_ERROR(LimitThreads(options.threads));
  return api::Device::Open(options.device);
}

}  // namespace tartan::bench
