// SPDX-License-Identifier: Apache-2.0
// Command-line options shared by the programs of this folder, and functions that apply them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/bench/parse_problem.h"

namespace tartan::bench {

struct ProgramOptions {
  std::string list = "bench/problems.txt";
  std::string filter;  // regular expression for specs; empty: all
  std::vector<std::string> against;
  int threads = 0;
  std::string device;
  double seconds = 0.3;
};

// Removes known options (--name=VALUE) from the arguments and leaves the others in place.
absl::StatusOr<ProgramOptions> TakeOptions(int* argc, char** argv);

// Reads the list of problems and applies the filter.
absl::StatusOr<std::vector<ProblemSection>> ReadProblems(const ProgramOptions& options);

// Limits the number of threads, then opens the device.
absl::StatusOr<std::shared_ptr<api::Device>> OpenDevice(const ProgramOptions& options);

}  // namespace tartan::bench
