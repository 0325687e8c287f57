// SPDX-License-Identifier: Apache-2.0
// How good the planner's choice is: the plans of a problem's main kernel, measured one by one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/bench/problem.h"

namespace tartan::bench {

struct PlanTrial {
  std::string plan;
  double predicted_us = 0;  // by the cost model; 0 where it says nothing
  double ms = 0;            // the least of several runs of the whole problem
  std::string cost;         // the terms of the prediction
};

struct PlanSearchResult {
  std::string spec;
  double planning_ms = 0;         // of the kernel, the least of three times
  int64_t plans = 0;              // that the planner knows; `trials` may be fewer
  std::vector<PlanTrial> trials;  // the planner's choice first, then in its order
  // Of the choice and of the best trial, measured in turns; the best is the choice itself where no
  // trial is faster.
  double chosen_ms = 0;
  double best_ms = 0;
  int best = 0;  // position in `trials`
};

// Varies the plan of the kernel that takes longest. At most `most` plans are tried: the first half
// of them as the planner orders them, the rest spread evenly over all others. DataLoss where a plan
// leads to another result than the planner's choice.
absl::StatusOr<PlanSearchResult> SearchPlans(const Problem& problem, int most, api::Device& device);

// A Markdown table, with how many choices are within 15 % and 35 % of the best.
std::string PlanSearchTable(absl::Span<const PlanSearchResult> results);
// The trials of one problem as a Markdown table, the fastest first: what the model got wrong.
std::string TrialTable(const PlanSearchResult& result);

}  // namespace tartan::bench
