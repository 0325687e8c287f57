// One problem on every engine asked for: made, compared, measured in turns.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/measure.h"
#include "bench/problem.h"
#include "frontend/api/device.h"

namespace tartan::bench {

// Beside "tartan" itself: "copy" and the names of peer_engine.h.
std::vector<std::string> EngineNames();

struct EngineResult {
  std::string engine;
  Measurement time;
  double gflops = 0;
  double gbps = 0;
  double roofline = 0;   // part of what the device's peak and bandwidth allow; 0 where unknown
  double max_error = 0;  // from Tartan's result (comparison.h)
  int64_t kernels = 0;
};

struct ProblemResult {
  std::string spec;
  double flops = 0;
  double bytes = 0;
  double compile_ms = 0;              // compiling and packing, of Tartan
  std::vector<EngineResult> engines;  // "tartan" first
  std::vector<std::string> missing;   // engines that do not have the operation
};

// DataLoss where an engine's result differs from Tartan's: nothing is timed then.
absl::StatusOr<ProblemResult> RunProblem(const Problem& problem,
                                         const std::vector<std::string>& against,
                                         const MeasureOptions& options, api::Device& device);

}  // namespace tartan::bench
