// Outputs as the command line shows, reports and writes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/report.pb.h"
#include "frontend/api/value.h"

namespace tartan::cli {

// "NAME=FILE" as positions in `names` -> files. InvalidArgument for a name that is not among them
// (listing them) and for files that are neither .npy nor .pb.
absl::StatusOr<std::map<size_t, std::string>> ParseOutputFiles(
    const std::vector<std::string>& texts, const std::vector<std::string>& names);

// Name, type, shape, and the elements where they are few numbers.
void FillOutput(const std::string& name, const api::HostValue& value,
                proto::RunReport::Output* output);

// The first elements for a person, indented: one line, or a line for every row of a small tensor;
// for a sequence what its elements are, for maps a line each.
std::string ValueText(const api::HostValue& value);

}  // namespace tartan::cli
