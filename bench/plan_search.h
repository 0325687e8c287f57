// SPDX-License-Identifier: Apache-2.0
// Measures the quality of the planner's choice by compiling and timing other plans of a problem's
// main kernel.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/bench/problem.h"

namespace tartan::bench {

struct PlanTrial {
  std::string plan;
  double predicted_us = 0;  // predicted by the cost model; 0 if unknown
  double ms = 0;            // minimum of several executions of the whole problem
  std::string cost;         // terms of the prediction
};

struct PlanSearchResult {
  std::string spec;
  double planning_ms = 0;         // time to plan the kernel, minimum of three
  int64_t plans = 0;              // number of plans known to the planner; `trials` may be fewer
  std::vector<PlanTrial> trials;  // the planner's choice first, then the planner's order
  // Times of the chosen plan and the best trial, measured alternately. The best is the chosen plan
  // itself if no trial is faster.
  double chosen_ms = 0;
  double best_ms = 0;
  int best = 0;  // position in `trials`
};

// Varies the plan of the longest-running kernel. Tries at most `most` plans: the first half in the
// planner's order, the rest spread evenly over the remaining plans. Returns DataLoss if a plan
// computes a different result than the planner's choice.
absl::StatusOr<PlanSearchResult> SearchPlans(const Problem& problem, int most, api::Device& device);

// Prints a Markdown table, with the number of choices within 15 % and 35 % of the best plan.
std::string PlanSearchTable(absl::Span<const PlanSearchResult> results);
// Prints the trials of one problem as a Markdown table, fastest first, to show errors of the cost
// model.
std::string TrialTable(const PlanSearchResult& result);

}  // namespace tartan::bench
