// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/data_schedule.h"

namespace tartan::plan_cluster {

StepSchedule ScheduleData(const TrainingProfile& profile, const Cluster& cluster,
                          const PlanOptions& options) {
  StepSchedule schedule;
  schedule.forward_s = profile.host_s + profile.forward_s;
  schedule.backward_s = profile.backward_s;
  schedule.update_s = profile.update_s;
  const Group group = cluster.GroupOf(cluster.devices, 1);
  for (const Gradient& bucket : MakeBuckets(profile.gradients, options.bucket_bytes)) {
    const double ready_s = options.overlaps ? bucket.ready_s : profile.backward_s;
    schedule.reductions.push_back({ready_s, AllReduce(group, bucket.bytes).seconds});
  }
  return schedule;
}

}  // namespace tartan::plan_cluster
