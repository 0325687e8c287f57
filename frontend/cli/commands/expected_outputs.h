// SPDX-License-Identifier: Apache-2.0
// Outputs compared with values that the user has: `tartan run --expect`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"
#include "frontend/cli/compare.h"
#include "proto/report.pb.h"

namespace tartan::cli {

struct ExpectedOutput {
  size_t output = 0;  // position among the model's outputs
  api::HostValue value;
};

// The values of "NAME=@FILE" (.npy or .pb), in order. InvalidArgument for a name that no output has
// (listing them) or that is given twice, and for other files; errors of files are marked as such.
absl::StatusOr<std::vector<ExpectedOutput>> ReadExpectedOutputs(
    const std::vector<std::string>& texts, const std::vector<api::TensorSpec>& outputs);

struct ExpectedTolerance {
  Tolerance tolerance;
  // 16-bit outputs have a tolerance of their own (ToleranceFor), which the note then reports.
  bool by_type = true;
};

// Adds a comparison for each expected output, and returns whether all are equal. Floats of another
// width are compared as float64, integers as int64; the note says so.
bool CompareWithExpected(const std::vector<ExpectedOutput>& expected,
                         const std::vector<api::TensorSpec>& outputs,
                         const std::vector<api::HostValue>& values,
                         const ExpectedTolerance& tolerance, proto::RunReport* report);

// A line for each comparison, as `tartan verify` prints them.
std::string ComparisonText(const proto::RunReport& report);

}  // namespace tartan::cli
