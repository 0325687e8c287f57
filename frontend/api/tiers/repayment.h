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

// A prediction about exact kernels, made before they are compiled.
struct ExactForecast {
  double cost_ms = 0;      // by which their compilation delays runs
  double saved_share = 0;  // of the time of a run
};

// The delay of runs by each millisecond of a compilation in the background. With few processors a
// compilation has a sixth of one beside a loop of runs (idle_time.h) and slows those runs by up to
// a twelfth: half of its own time. With more it takes one of the processors that a CPU device
// wants; runs of another device wait for none.
double DelayOfRuns(int processors, bool runs_on_processors);

// `program` has ready (dynamic-shape) kernels, or the host computes it.
ExactForecast ForecastExact(const evaluator::CompiledProgram& program,
                            const hal::DeviceInfo& device);

struct RepaymentRule {
  int after_runs = 2;  // the minimum number of runs; 0: exact kernels are never compiled
  // Runs must have lost this share of the predicted cost before. 1 is the ski-rental rule: the user
  // never pays more than twice what the better choice would have cost. 0: only `after_runs` counts.
  double lost_share = 1;
};

// Adds up the time that the runs of one program lose by not having exact kernels.
class Repayment {
 public:
  Repayment(const RepaymentRule& rule, const ExactForecast& forecast)
      : rule_(rule), forecast_(forecast) {}

  // After a run that took `ms`. True once: now exact kernels are worth their compilation.
  bool AddRun(double ms);
  // The time lost by all runs until now.
  double lost_ms() const { return lost_ms_; }

 private:
  const RepaymentRule rule_;
  const ExactForecast forecast_;
  int64_t runs_ = 0;
  double lost_ms_ = 0;
  bool is_repaid_ = false;
};

}  // namespace tartan::api
