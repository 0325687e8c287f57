// SPDX-License-Identifier: Apache-2.0
// Compares the planner's choice with the other plans it knows, for each problem, and prints a
// Markdown document: `plans --filter=^conv:n1 --threads=1 --most=60`. With --trials, each tried
// plan is listed.
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "bench/plan_search.h"
#include "bench/program_options.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

struct SearchOptions {
  int most = 40;
  bool trials = false;
};

absl::StatusOr<SearchOptions> TakeSearchOptions(int argc, char** argv) {
  SearchOptions options;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (argument == "--trials") {
      options.trials = true;
      continue;
    }
    if (absl::ConsumePrefix(&argument, "--most=") && absl::SimpleAtoi(argument, &options.most) &&
        options.most > 0) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(argv[i], " is not an option; the options are --list=FILE --filter=REGEX ",
                     "--threads=N --device=STRING --most=PLANS --trials"));
  }
  return options;
}

absl::Status Run(int argc, char** argv) {
  TARTAN_ASSIGN_OR_RETURN(const ProgramOptions options, TakeOptions(&argc, argv));
  TARTAN_ASSIGN_OR_RETURN(const SearchOptions search, TakeSearchOptions(argc, argv));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<ProblemSection> sections, ReadProblems(options));
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<api::Device> device, OpenDevice(options));
  std::vector<PlanSearchResult> results;
  for (const ProblemSection& section : sections) {
    for (const Problem& problem : section.problems) {
      std::fprintf(stderr, "%s\n", problem.spec.c_str());
      absl::StatusOr<PlanSearchResult> result = SearchPlans(problem, search.most, *device);
      if (result.ok()) {
        results.push_back(*std::move(result));
      } else {
        std::fprintf(stderr, "  %s\n", result.status().ToString().c_str());
      }
    }
  }
  std::string text =
      absl::StrCat("Device: ", device->info().name, ", ", device->info().platform, ", ",
                   device->info().driver_version, "\n\n", PlanSearchTable(results));
  for (const PlanSearchResult& result : results) {
    if (search.trials) absl::StrAppend(&text, TrialTable(result));
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tartan::bench

int main(int argc, char** argv) {
  const absl::Status status = tartan::bench::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "plans: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}
