// SPDX-License-Identifier: Apache-2.0
// Parses benchmark problems from text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/bench/problem.h"

namespace tartan::bench {

// InvalidArgument shows the spec, the error, and the expected form.
absl::StatusOr<Problem> ParseProblem(absl::string_view spec);

struct ProblemSection {
  std::string heading;
  std::vector<Problem> problems;
};

// Parses a list with one spec per line. "## heading" begins a section; other lines that begin with
// '#' and empty lines are skipped. Sections without problems are omitted. Errors name `file` and
// the line.
absl::StatusOr<std::vector<ProblemSection>> ParseProblemList(absl::string_view text,
                                                             absl::string_view file);

}  // namespace tartan::bench
