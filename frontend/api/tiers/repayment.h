// SPDX-License-Identifier: Apache-2.0
// Decides whether a program's exact (shape-specialised) kernels repay their compilation. Internal
// to frontend/api.
#pragma once

#include <cstdint>

#include "hal/device_info.h"

namespace tartan::evaluator {
class CompiledProgram;
}

namespace tartan::api {

// A prediction about exact kernels, made before compiling them.
struct ExactForecast {
  double cost_ms = 0;      // delay of runs caused by the compilation
  double saved_share = 0;  // share of a run's time that exact kernels save
};

// Delay of runs per millisecond of background compilation. With few processors, a compilation gets
// 1/6 of one processor during a loop of runs (background/idle_time.h) and slows those runs by up to
// 1/12: half of its own time. With more processors, it occupies one of those that a CPU device
// uses; runs on other devices are not delayed.
double DelayOfRuns(int processors, bool runs_on_processors);

// `program` has ready (dynamic-shape) kernels or is computed by the host.
ExactForecast ForecastExact(const evaluator::CompiledProgram& program,
                            const hal::DeviceInfo& device);

struct RepaymentRule {
  int after_runs = 2;  // minimum number of runs; 0: exact kernels are never compiled
  // Share of the predicted cost that runs must have lost before. 1 is the ski-rental rule: the user
  // never pays more than twice the cost of the better choice. 0: only `after_runs` counts.
  double lost_share = 1;
};

// Accumulates the time that runs of one program lose for lack of exact kernels.
class Repayment {
 public:
  Repayment(const RepaymentRule& rule, const ExactForecast& forecast)
      : rule_(rule), forecast_(forecast) {}

  // Call it after a run that took `ms`. Returns true exactly once, when exact kernels repay their
  // compilation.
  bool AddRun(double ms);
  // The time lost by all runs so far.
  double lost_ms() const { return lost_ms_; }

 private:
  const RepaymentRule rule_;
  const ExactForecast forecast_;
  int64_t runs_ = 0;
  double lost_ms_ = 0;
  bool is_repaid_ = false;
};

}  // namespace tartan::api
