// SPDX-License-Identifier: Apache-2.0
#include "bench/report_table.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::bench {
namespace {

const EngineResult* Find(const ProblemResult& problem, const std::string& engine) {
  for (const EngineResult& result : problem.engines) {
    if (result.engine == engine) return &result;
  }
  return nullptr;
}

double Ratio(const ProblemResult& problem, const EngineResult& engine) {
  return engine.time.median_ms / problem.engines.front().time.median_ms;
}

std::string Row(const std::vector<std::string>& cells) {
  return absl::StrCat("| ", absl::StrJoin(cells, " | "), " |\n");
}

std::string Header(const std::vector<std::string>& against) {
  std::vector<std::string> names = {"problem", "kernels", "tartan ms",
                                    "GFLOP/s", "GB/s",    "roofline"};
  for (const std::string& engine : against) {
    names.push_back(absl::StrCat(engine, " ms"));
    names.push_back("ratio");
  }
  std::vector<std::string> rules(names.size(), "---:");
  rules[0] = "---";
  return absl::StrCat(Row(names), Row(rules));
}

std::string ProblemRow(const ProblemResult& problem, const std::vector<std::string>& against) {
  const EngineResult& tartan = problem.engines.front();
  std::vector<std::string> cells = {
      absl::StrCat("`", problem.spec, "`"),
      absl::StrCat(tartan.kernels),
      absl::StrFormat("%.4g", tartan.time.median_ms),
      absl::StrFormat("%.1f", tartan.gflops),
      absl::StrFormat("%.1f", tartan.gbps),
      tartan.roofline > 0 ? absl::StrFormat("%.2f", tartan.roofline) : "",
  };
  for (const std::string& name : against) {
    const EngineResult* engine = Find(problem, name);
    cells.push_back(engine == nullptr ? "" : absl::StrFormat("%.4g", engine->time.median_ms));
    cells.push_back(engine == nullptr ? "" : absl::StrFormat("%.2f", Ratio(problem, *engine)));
  }
  return Row(cells);
}

std::string RelativeSpeedText(const std::string& engine, absl::Span<const ProblemResult> problems) {
  const RelativeSpeed standing = RelativeSpeedTo(engine, problems);
  if (standing.problems == 0) return "";
  return absl::StrFormat("* against %s: geometric mean %.2f over %d, minimum %.2f (`%s`)\n", engine,
                         standing.geometric_mean, standing.problems, standing.least,
                         standing.min_ratio_spec);
}

}  // namespace

RelativeSpeed RelativeSpeedTo(const std::string& engine, absl::Span<const ProblemResult> problems) {
  RelativeSpeed standing;
  double logarithms = 0;
  for (const ProblemResult& problem : problems) {
    const EngineResult* result = Find(problem, engine);
    if (result == nullptr) continue;
    const double ratio = Ratio(problem, *result);
    logarithms += std::log(ratio);
    if (standing.problems++ == 0 || ratio < standing.least) {
      standing.least = ratio;
      standing.min_ratio_spec = problem.spec;
    }
  }
  if (standing.problems > 0) standing.geometric_mean = std::exp(logarithms / standing.problems);
  return standing;
}

std::string ToMarkdown(absl::Span<const SectionResult> sections,
                       const std::vector<std::string>& against) {
  std::string text;
  std::vector<ProblemResult> all;
  for (const SectionResult& section : sections) {
    if (section.problems.empty()) continue;
    absl::StrAppend(&text, "## ", section.heading, "\n\n", Header(against));
    for (const ProblemResult& problem : section.problems) {
      absl::StrAppend(&text, ProblemRow(problem, against));
      all.push_back(problem);
    }
    absl::StrAppend(&text, "\n");
    for (const std::string& engine : against) {
      absl::StrAppend(&text, RelativeSpeedText(engine, section.problems));
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, "## All\n\n");
  for (const std::string& engine : against) absl::StrAppend(&text, RelativeSpeedText(engine, all));
  return text;
}

}  // namespace tartan::bench
