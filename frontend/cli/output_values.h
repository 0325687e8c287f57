// SPDX-License-Identifier: Apache-2.0
// Formats, reports and writes model outputs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "proto/report.pb.h"

namespace tartan::cli {

struct OutputFile {
  size_t output = 0;  // index among the names
  std::string path;
};

// Parses "NAME=FILE" options, in order. InvalidArgument for an unknown name (listing `names`), for
// a file that is neither .npy nor .pb, and for two options with the same file. A file that cannot
// be written is a file error.
absl::StatusOr<std::vector<OutputFile>> ParseOutputFiles(const std::vector<std::string>& texts,
                                                         const std::vector<std::string>& names);

// Fills in name, type and shape, and the elements if they are few numbers.
void FillOutput(const std::string& name, const api::HostValue& value,
                proto::RunReport::Output* output);

// Formats the first elements for people, indented: one line, or one line per row of a small tensor.
// A sequence shows its element types; maps take one line each.
std::string ValueText(const api::HostValue& value);

}  // namespace tartan::cli
