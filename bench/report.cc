// SPDX-License-Identifier: Apache-2.0
// Measures the problems of a list alternately with other engines, and prints a Markdown document
// with ratios and geometric means: `report --filter=^conv:n1 --against=onednn,copy --threads=1`.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/program_options.h"
#include "bench/report_table.h"
#include "frontend/bench/run_problem.h"
#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

std::string Heading(const api::Device& device, const HardwareSettings& settings,
                    const ProgramOptions& options) {
  const hal::DeviceInfo& info = device.info();
  return absl::StrFormat(
      "Device: %s (%s, %s); %s. Measured peak %.0f GFLOP/s, %.1f GB/s, %.1f us per launch.\n\n",
      info.name, info.platform, info.driver_version,
      options.threads > 0 ? absl::StrCat(options.threads, " pinned threads") : "all threads",
      settings.gflops, settings.gbps, settings.launch_us);
}

absl::Status Run(int argc, char** argv) {
  TARTAN_ASSIGN_OR_RETURN(const ProgramOptions options, TakeOptions(&argc, argv));
  if (argc > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(argv[1], " is not an option; the options are --list=FILE --filter=REGEX ",
                     "--against=ENGINE,... --threads=N --device=STRING --time=SECONDS"));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<ProblemSection> sections, ReadProblems(options));
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<api::Device> device, OpenDevice(options));
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device->MeasuredSettings());
  MeasureOptions measure;
  measure.seconds = options.seconds;
  std::vector<SectionResult> results;
  std::string failures;
  for (const ProblemSection& section : sections) {
    SectionResult& result = results.emplace_back();
    result.heading = section.heading;
    for (const Problem& problem : section.problems) {
      std::fprintf(stderr, "%s\n", problem.spec.c_str());
      absl::StatusOr<ProblemResult> measured =
          RunProblem(problem, options.against, measure, *device);
      // A failure does not stop the other problems.
      if (measured.ok()) {
        result.problems.push_back(*std::move(measured));
      } else {
        absl::StrAppend(&failures, "* `", problem.spec, "`: ", measured.status().message(), "\n");
        std::fprintf(stderr, "  %s\n", measured.status().ToString().c_str());
      }
    }
  }
  std::string text =
      absl::StrCat(Heading(*device, settings, options), ToMarkdown(results, options.against));
  if (!failures.empty()) absl::StrAppend(&text, "\n## Failures\n\n", failures);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return failures.empty() ? absl::OkStatus() : absl::InternalError("some problems failed");
}

}  // namespace
}  // namespace tartan::bench

int main(int argc, char** argv) {
  const absl::Status status = tartan::bench::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "report: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}
