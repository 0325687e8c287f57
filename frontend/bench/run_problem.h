// SPDX-License-Identifier: Apache-2.0
// One problem on every engine asked for: made, compared, measured in turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/bench/engine.h"
#include "frontend/bench/measure.h"
#include "frontend/bench/problem.h"
#include "frontend/bench/workload.h"

namespace tartan::bench {

// Beside "tartan" itself: "copy" and the names of peer_engine.h.
std::vector<std::string> EngineNames();

// The least time that the measured peak and bandwidth of a device allow, which is the longer of
// those for the arithmetic and for the memory; 0 where they are not known.
double LeastMilliseconds(const Workload& work, const HardwareSettings& settings);

// A problem and the engines that have it, ready to be timed. Used by one thread.
class ProblemRun {
 public:
  // Compiles it and runs it once. The device outlives it.
  static absl::StatusOr<std::unique_ptr<ProblemRun>> Create(const Problem& problem,
                                                            api::Device& device);

  const Problem& problem() const { return problem_; }
  const Workload& workload() const { return work_; }
  double compile_ms() const { return compile_ms_; }

  // The engine, made if it is not there yet and compared with Tartan's result: DataLoss where that
  // differs. Null where it does not have the operation. "tartan" is Tartan itself.
  absl::StatusOr<Engine*> AddEngine(const std::string& name);
  // Of an engine that is there.
  double MaxErrorOf(const Engine& engine) const;

 private:
  struct Entry {
    std::unique_ptr<Engine> engine;
    double max_error = 0;
  };
  ProblemRun(const Problem& problem, api::Device& device)
      : problem_(problem), work_(MakeWorkload(problem)), device_(device) {}

  const Problem problem_;
  const Workload work_;
  api::Device& device_;
  double compile_ms_ = 0;
  std::vector<HostTensor> values_;  // of the program's inputs
  HostTensor expected_;
  std::vector<Entry> entries_;  // Tartan first
};

struct EngineResult {
  std::string engine;
  Measurement time;
  double gflops = 0;
  double gbps = 0;
  double roofline = 0;   // LeastMilliseconds by the median
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
