// SPDX-License-Identifier: Apache-2.0
// Problems from text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/bench/problem.h"

namespace tartan::bench {

// InvalidArgument shows the spec, what is wrong with it, and the form that would be right.
absl::StatusOr<Problem> ParseProblem(absl::string_view spec);

struct ProblemSection {
  std::string heading;
  std::vector<Problem> problems;
};

// A list: one spec a line, "## heading" begins a section, other lines that begin with '#' and empty
// ones are skipped. Sections without problems are left out. Errors name `file` and the line.
absl::StatusOr<std::vector<ProblemSection>> ParseProblemList(absl::string_view text,
                                                             absl::string_view file);

}  // namespace tartan::bench
