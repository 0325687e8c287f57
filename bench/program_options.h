// SPDX-License-Identifier: Apache-2.0
// The options that the programs of this folder share, and what they lead to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/bench/parse_problem.h"

namespace tartan::bench {

// --list FILE, --filter REGEX, --against ENGINE,…, --threads N, --device STRING, --time SECONDS.
struct ProgramOptions {
  std::string list = "bench/problems.txt";
  std::string filter;  // of the text of specs; empty: all
  std::vector<std::string> against;
  int threads = 0;
  std::string device;
  double seconds = 0.3;
};

// Takes what it knows from the arguments, as --name=VALUE, and leaves the others in place.
absl::StatusOr<ProgramOptions> TakeOptions(int* argc, char** argv);

// The list with what the filter leaves.
absl::StatusOr<std::vector<ProblemSection>> ReadProblems(const ProgramOptions& options);

// Limits threads, then opens the device.
absl::StatusOr<std::shared_ptr<api::Device>> OpenDevice(const ProgramOptions& options);

}  // namespace tartan::bench
