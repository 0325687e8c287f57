// SPDX-License-Identifier: Apache-2.0
// Measures plans of a kernel on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/codegen/dialect.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::evaluator {

struct TuneOptions {
  int candidates = 8;    // plans to try, the cost model's choice among them
  double seconds = 0.5;  // for measuring, compiling aside
  int64_t rounds = 0;    // measurements of each plan that is left at the end, instead of a time
};

struct TunedKernel {
  int tried = 0;         // plans that were measured
  double before_ms = 0;  // of the cost model's choice
  double after_ms = 0;   // of the plan that is best now
  // Faster than the cost model's choice by more than noise; nothing where no plan is.
  std::optional<plan::PlannedKernel> winner;
  std::vector<std::string> problems;  // of plans that did not build, or computed something else
};

// Runs the planner's candidates in turns, on random operands: a few rounds of all of them, then
// more of the fastest. Fails where the cost model's own choice cannot be built or run.
absl::StatusOr<TunedKernel> TuneKernel(const poly::FlatContraction& flat,
                                       const std::vector<bool>& is_constant,
                                       const hal::DevicePtr& device,
                                       const codegen::Dialect& dialect, const TuneOptions& options);

// The same with plans of the caller's choice; the first counts as the cost model's.
absl::StatusOr<TunedKernel> MeasurePlans(const poly::FlatContraction& flat,
                                         const std::vector<bool>& is_constant,
                                         std::vector<plan::PlannedKernel> plans,
                                         const hal::DevicePtr& device,
                                         const codegen::Dialect& dialect,
                                         const TuneOptions& options);

}  // namespace tartan::evaluator
