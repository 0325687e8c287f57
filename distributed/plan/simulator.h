// SPDX-License-Identifier: Apache-2.0
// A discrete-event simulation of training on many ranks: steps with stragglers, and runs with
// failures. All times are in seconds. Equal arguments give equal results on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "distributed/plan/checkpointing.h"

namespace tartan::plan_cluster {

// A step of data parallelism as each rank computes it.
struct StepSchedule {
  struct Reduction {
    double ready_s = 0;     // since the start of the backward pass
    double duration_s = 0;  // once all ranks are ready and the previous reduction has ended
  };
  double forward_s = 0;
  double backward_s = 0;
  std::vector<Reduction> reductions;  // in the order of all ranks
  double update_s = 0;                // after the last reduction

  // The duration if all ranks are equally fast.
  double step_s() const;
};

// Delays of ranks compared with the schedule.
struct StragglerModel {
  // Standard deviation of the logarithm of a factor with median 1, drawn for each rank and step.
  double jitter = 0;
  double slow_share = 0;   // share of ranks, rounded, that are slow in every step
  double slow_factor = 1;  // their computing time compared with other ranks
};

// The duration of each step, from the end of the previous one on all ranks. A rank starts its next
// step when its own update ends.
std::vector<double> SimulateSteps(const StepSchedule& schedule, int64_t ranks, int64_t steps,
                                  const StragglerModel& stragglers, uint64_t seed);

struct RunTime {
  double useful_s = 0;       // steps that counted
  double lost_s = 0;         // steps and checkpoints that failures undid
  double checkpoints_s = 0;  // writing of checkpoints that counted
  double restarts_s = 0;
  int64_t failures = 0;

  double total_s() const { return useful_s + lost_s + checkpoints_s + restarts_s; }
  double goodput() const { return useful_s / total_s(); }
};

// Replays a run of `useful_s` seconds of steps with a checkpoint after each `interval_s` seconds of
// steps, or at the end of the step that exceeds them. Steps take the times of `step_times` in turn.
// A failure during steps, a checkpoint or a restart continues from the last checkpoint.
RunTime SimulateRun(absl::Span<const double> step_times, const FailureModel& model,
                    double interval_s, double useful_s, uint64_t seed);

}  // namespace tartan::plan_cluster
