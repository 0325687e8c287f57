// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules: the rate of each step as a share of the base rate.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::train {

enum class ScheduleKind : uint8_t {
  kConstant,
  kStep,      // multiplied by `factor` every `every` steps
  kLinear,    // linear to `end` at the last step
  kCosine,    // half a cosine to `end` at the last step
  kPlateau,   // multiplied by `factor` when the validation loss stalls (Plateau)
  kOneCycle,  // half a cosine up from 1/25 in the first `rise` of the steps, then down to `end`
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  int64_t warm_up = 0;  // steps of linear warm-up before the schedule, from 1/warm_up
  int64_t every = 1000;
  double factor = 0.1;
  double end = 0;  // final share of the rate
  double rise = 0.3;
  // kPlateau has three options: epochs without a better loss before a reduction, the relative
  // improvement that counts as better, and the minimum rate.
  int64_t patience = 10;
  double threshold = 1e-4;
  double minimum = 0;

  // The share at a step, counted from 0, of `steps` in total.
  double At(int64_t step, int64_t steps) const;
};

// The state of a kPlateau schedule; follows PyTorch's ReduceLROnPlateau.
struct Plateau {
  double share = 1;                                       // of the rate
  double best = std::numeric_limits<double>::infinity();  // loss that later ones are compared with
  int64_t bad_epochs = 0;                                 // since then, or since a reduction

  // Adds the validation loss of an epoch. `rate` is the base rate. NaN counts as no better.
  void Add(const Schedule& schedule, double rate, double loss);
};

// Parses "cosine", "cosine:warmup=100,end=0.1" or "step:every=500,factor=0.5". InvalidArgument
// names the unknown part.
absl::StatusOr<Schedule> ParseSchedule(absl::string_view text);

// A canonical text: equal for equal schedules.
std::string ToString(const Schedule& schedule);
// True if the share at a step depends on the total number of steps.
bool DependsOnLength(const Schedule& schedule);

}  // namespace tartan::train
