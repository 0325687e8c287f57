// SPDX-License-Identifier: Apache-2.0
// The best interval between checkpoints, and the time of a run with failures. All times are in
// seconds.
//
// J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, 2006.
#pragma once

namespace tartan::plan_cluster {

struct FailureModel {
  double mtbf_s = 0;        // mean time between failures of the whole cluster; 0: none fail
  double checkpoint_s = 0;  // time to write a checkpoint
  double restart_s = 0;     // time from a failure to the first step from the last checkpoint
};

// Young's first-order optimum of the computing time between checkpoints: sqrt(2 c M).
double YoungInterval(const FailureModel& model);
// Daly's higher-order optimum: sqrt(2 c M) (1 + sqrt(c/(2M))/3 + c/(18 M)) - c, and M for
// c >= 2 M.
double DalyInterval(const FailureModel& model);

// The expected share of useful computation in the time of a run with exponentially distributed
// failures: t / (M exp(R/M) (exp((t+c)/M) - 1)) for an interval of t.
double ExpectedGoodput(const FailureModel& model, double interval_s);

}  // namespace tartan::plan_cluster
