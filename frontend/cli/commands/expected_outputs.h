// SPDX-License-Identifier: Apache-2.0
// Compares outputs with the user's expected values: `tartan run --expect`.
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
  size_t output = 0;  // index of the model output
  api::HostValue value;
};

// Reads the values of "NAME=@FILE" (.npy or .pb), in order. InvalidArgument for a name that is
// not an output (listing the outputs) or is given twice, and for other file formats. Errors of
// reading have Stage::kFile.
absl::StatusOr<std::vector<ExpectedOutput>> ReadExpectedOutputs(
    const std::vector<std::string>& texts, const std::vector<api::TensorSpec>& outputs);

struct ExpectedTolerance {
  Tolerance tolerance;
  // If set, 16-bit outputs use their own tolerance (ToleranceFor), and the note reports it.
  bool by_type = true;
};

// Adds a comparison for each expected output and returns whether all are equal. Floats of different
// widths are compared as float64, integers as int64; the note says so.
bool CompareWithExpected(const std::vector<ExpectedOutput>& expected,
                         const std::vector<api::TensorSpec>& outputs,
                         const std::vector<api::HostValue>& values,
                         const ExpectedTolerance& tolerance, proto::RunReport* report);

// One line per comparison, in the format of `tartan verify`.
std::string ComparisonText(const proto::RunReport& report);

}  // namespace tartan::cli
