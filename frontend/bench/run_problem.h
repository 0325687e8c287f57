// SPDX-License-Identifier: Apache-2.0
// Runs one problem on all requested engines: sets them up, compares results, measures alternately.
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

// Engines other than "tartan": "copy" and the names of peer_engine.h.
std::vector<std::string> EngineNames();

// Minimum time in ms (roofline): the maximum of arithmetic time at the device's measured peak and
// memory time at its measured bandwidth; 0 if these are unknown.
double RooflineMilliseconds(const Workload& work, const HardwareSettings& settings);

// A problem and the engines that support it, ready to be timed. Used by one thread.
class ProblemRun {
 public:
  // Compiles the problem and runs it once. The device must outlive it.
  static absl::StatusOr<std::unique_ptr<ProblemRun>> Create(const Problem& problem,
                                                            api::Device& device);

  const Problem& problem() const { return problem_; }
  const Workload& workload() const { return work_; }
  double compile_ms() const { return compile_ms_; }

  // Returns the engine; on first use, sets it up and compares it with Tartan's result. DataLoss if
  // the results differ. Null if the engine does not have the operation. "tartan" is Tartan itself.
  absl::StatusOr<Engine*> AddEngine(const std::string& name);
  // Requires an engine that AddEngine returned.
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
  std::vector<HostTensor> values_;  // one per program input
  HostTensor expected_;
  std::vector<Entry> entries_;  // Tartan first
};

struct EngineResult {
  std::string engine;
  Measurement time;
  double gflops = 0;
  double gbps = 0;
  double roofline = 0;   // RooflineMilliseconds divided by the median
  double max_error = 0;  // compared with Tartan's result (comparison.h)
  int64_t kernels = 0;
};

struct ProblemResult {
  std::string spec;
  double flops = 0;
  double bytes = 0;
  double compile_ms = 0;              // Tartan's time for compiling and packing
  std::vector<EngineResult> engines;  // "tartan" first
  std::vector<std::string> missing;   // engines that do not have the operation
};

// Returns DataLoss, without timing anything, if an engine's result differs from Tartan's.
absl::StatusOr<ProblemResult> RunProblem(const Problem& problem,
                                         const std::vector<std::string>& against,
                                         const MeasureOptions& options, api::Device& device);

}  // namespace tartan::bench
