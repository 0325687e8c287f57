// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/checkpointing.h"

#include <cmath>

namespace tartan::plan_cluster {

double YoungInterval(const FailureModel& model) {
  return std::sqrt(2 * model.checkpoint_s * model.mtbf_s);
}

double DalyInterval(const FailureModel& model) {
  if (model.checkpoint_s >= 2 * model.mtbf_s) return model.mtbf_s;
  const double ratio = model.checkpoint_s / (2 * model.mtbf_s);
  return YoungInterval(model) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - model.checkpoint_s;
}

double ExpectedGoodput(const FailureModel& model, double interval_s) {
  if (model.mtbf_s <= 0) return interval_s / (interval_s + model.checkpoint_s);
  const double segment_s = model.mtbf_s * std::exp(model.restart_s / model.mtbf_s) *
                           std::expm1((interval_s + model.checkpoint_s) / model.mtbf_s);
  return interval_s / segment_s;
}

}  // namespace tartan::plan_cluster
