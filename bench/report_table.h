// SPDX-License-Identifier: Apache-2.0
// Prints the results of many problems as a Markdown document.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontend/bench/run_problem.h"

namespace tartan::bench {

struct SectionResult {
  std::string heading;
  std::vector<ProblemResult> problems;
};

// Speed relative to one engine: the engine's time divided by Tartan's time, so a ratio above 1
// means that Tartan is faster.
struct RelativeSpeed {
  int problems = 0;  // supported by both; the other members are 0 if there are none
  double geometric_mean = 0;
  double least = 0;
  std::string min_ratio_spec;
};
RelativeSpeed RelativeSpeedTo(const std::string& engine, absl::Span<const ProblemResult> problems);

// Prints one table per section, with a row per problem: Tartan's time, GFLOP/s, GB/s and fraction
// of the roofline; then, for each engine in `against`, its time and the ratio to Tartan's.
// Geometric means and minima follow each table and the document.
std::string ToMarkdown(absl::Span<const SectionResult> sections,
                       const std::vector<std::string>& against);

}  // namespace tartan::bench
