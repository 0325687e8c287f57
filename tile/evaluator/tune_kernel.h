// SPDX-License-Identifier: Apache-2.0
// Autotuning: measures plans of a kernel on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/codegen/dialect.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::evaluator {

struct TuneOptions {
  int candidates = 8;    // plans to try, including the cost model's choice
  double seconds = 0.5;  // time limit for measuring, without compilation
  int64_t rounds = 0;    // measurements per finalist; 0: use the time limit
};

struct TunedKernel {
  int tried = 0;         // measured plans
  double before_ms = 0;  // time of the cost model's choice
  double after_ms = 0;   // time of the best plan
  // A plan that is faster than the cost model's choice by more than noise, if there is one.
  std::optional<plan::PlannedKernel> winner;
  // errors of plans that did not build or computed wrong results
  std::vector<std::string> problems;
};

// Measures the planner's candidates alternately on random operands: a few rounds of all, then more
// rounds of the fastest. Fails if the cost model's own choice cannot be built or executed.
absl::StatusOr<TunedKernel> TuneKernel(const poly::FlatContraction& flat,
                                       const plan::LaunchContext& launch,
                                       const hal::DevicePtr& device,
                                       const codegen::Dialect& dialect, const TuneOptions& options);

// The same with the caller's plans; the first takes the place of the cost model's choice.
absl::StatusOr<TunedKernel> MeasurePlans(const poly::FlatContraction& flat,
                                         const std::vector<bool>& is_constant,
                                         std::vector<plan::PlannedKernel> plans,
                                         const hal::DevicePtr& device,
                                         const codegen::Dialect& dialect,
                                         const TuneOptions& options);

}  // namespace tartan::evaluator
