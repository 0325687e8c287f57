// SPDX-License-Identifier: Apache-2.0
// Computes and formats the report of `tartan plan-cluster`.
#pragma once

#include <cstdint>
#include <string>

#include "distributed/plan/checkpointing.h"
#include "distributed/plan/forms.h"
#include "distributed/plan/simulator.h"
#include "proto/report.pb.h"

namespace tartan::cli {

struct ClusterFlags {
  plan_cluster::Cluster cluster;  // links without bandwidth are not given
  plan_cluster::PlanOptions plan;
  double memory_bytes = 0;  // per device; 0: no limit
  double speed = 1;         // of a device compared with the measured one
  plan_cluster::StragglerModel stragglers;
  int64_t steps = 100;  // simulated
  uint64_t seed = 0;
  // Failures; mtbf_s is the mean time of one device, 0: no simulation of failures. A checkpoint
  // time of 0 follows from the storage's bandwidth.
  plan_cluster::FailureModel failures;
  plan_cluster::Link storage = {0, 2e9};
  double interval_s = 0;  // 0: Daly's optimum
};

// The profile of a device that computes `speed` times as fast.
plan_cluster::TrainingProfile Faster(plan_cluster::TrainingProfile profile, double speed);

// Fills everything but the model and the device.
void FillPlan(const plan_cluster::TrainingProfile& profile, const ClusterFlags& flags,
              proto::ClusterPlanReport* report);

std::string PlanText(const proto::ClusterPlanReport& report);

}  // namespace tartan::cli
