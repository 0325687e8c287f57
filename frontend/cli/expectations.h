// SPDX-License-Identifier: Apache-2.0
// The list of expected results of a verification: lines "status name", sorted by name. '#' starts a
// comment with the reason.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::cli {

// InvalidArgument, naming the line, for an unknown status or a repeated case.
absl::StatusOr<std::map<std::string, std::string>> ParseExpectations(
    absl::Span<const std::string> lines);

struct ActualStatus {
  std::string name;
  std::string status;
  std::string message;
};

std::string FormatExpectations(std::vector<ActualStatus> cases);

struct ExpectationDifference {
  std::string name;
  std::string expected;  // "absent": not in the list
  std::string actual;    // "absent": no such case
};

// All cases that differ from the list, in either direction.
std::vector<ExpectationDifference> FindDifferences(
    const std::map<std::string, std::string>& expected, absl::Span<const ActualStatus> cases);

}  // namespace tartan::cli
