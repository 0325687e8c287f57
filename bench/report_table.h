// SPDX-License-Identifier: Apache-2.0
// Results of many problems as a Markdown document.
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

// How Tartan stands against one engine: time of the engine by time of Tartan, so that more than 1
// means that Tartan is faster.
struct Standing {
  int problems = 0;  // that both have; the rest is 0 where there are none
  double geometric_mean = 0;
  double least = 0;
  std::string least_spec;
};
Standing StandingAgainst(const std::string& engine, absl::Span<const ProblemResult> problems);

// One table per section: a row per problem with Tartan's time, GFLOP/s, GB/s and part of the
// roofline, then for each engine of `against` its time and how many times longer it is than
// Tartan's; below each table and at the end the geometric means and the least.
std::string ToMarkdown(absl::Span<const SectionResult> sections,
                       const std::vector<std::string>& against);

}  // namespace tartan::bench
