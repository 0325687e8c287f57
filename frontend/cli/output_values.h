// SPDX-License-Identifier: Apache-2.0
// Outputs as the command line shows, reports and writes them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "proto/report.pb.h"

namespace tartan::cli {

struct OutputFile {
  size_t output = 0;  // position among the names
  std::string path;
};

// The files of "NAME=FILE", in order. InvalidArgument for a name that is not among `names` (listing
// them), for files that are neither .npy nor .pb, and where two would be one file; an error of
// files where one cannot be written.
absl::StatusOr<std::vector<OutputFile>> ParseOutputFiles(const std::vector<std::string>& texts,
                                                         const std::vector<std::string>& names);

// Name, type, shape, and the elements where they are few numbers.
void FillOutput(const std::string& name, const api::HostValue& value,
                proto::RunReport::Output* output);

// The first elements for a person, indented: one line, or a line for every row of a small tensor;
// for a sequence what its elements are, for maps a line each.
std::string ValueText(const api::HostValue& value);

}  // namespace tartan::cli
