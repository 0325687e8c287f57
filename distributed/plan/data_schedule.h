// SPDX-License-Identifier: Apache-2.0
// The schedule of a data-parallel step, for the simulator.
#pragma once

#include "distributed/plan/forms.h"
#include "distributed/plan/simulator.h"

namespace tartan::plan_cluster {

// Its step time equals the step time of PredictData with Shard::kNothing.
StepSchedule ScheduleData(const TrainingProfile& profile, const Cluster& cluster,
                          const PlanOptions& options);

}  // namespace tartan::plan_cluster
