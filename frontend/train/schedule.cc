// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr double kFirstOfCycle = 1.0 / 25;
constexpr double kSmallestReduction = 1e-8;  // of a plateau's rate, as in PyTorch

constexpr std::pair<absl::string_view, ScheduleKind> kNames[] = {
    {"constant", ScheduleKind::kConstant}, {"step", ScheduleKind::kStep},
    {"linear", ScheduleKind::kLinear},     {"cosine", ScheduleKind::kCosine},
    {"plateau", ScheduleKind::kPlateau},   {"one_cycle", ScheduleKind::kOneCycle}};

// Cosine interpolation from `a` to `b`; `share` is in [0, 1].
double Ease(double a, double b, double share) {
  return b + (a - b) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

absl::Status SetOption(absl::string_view key, absl::string_view value, Schedule* schedule) {
  double number = 0;
  const bool is_count = absl::SimpleAtod(value, &number) && number >= 0;
  if (is_count && key == "warmup") {
    schedule->warm_up = static_cast<int64_t>(number);
  } else if (is_count && key == "every" && number >= 1) {
    schedule->every = static_cast<int64_t>(number);
  } else if (is_count && key == "factor") {
    schedule->factor = number;
  } else if (is_count && key == "end") {
    schedule->end = number;
  } else if (is_count && key == "rise" && number > 0 && number < 1) {
    schedule->rise = number;
  } else if (is_count && key == "patience") {
    schedule->patience = static_cast<int64_t>(number);
  } else if (is_count && key == "threshold") {
    schedule->threshold = number;
  } else if (is_count && key == "minimum") {
    schedule->minimum = number;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", key, "=", value,
        "' is not an option of a schedule; the options are warmup=STEPS, end=SHARE, ",
        "every=STEPS and factor=F of step, factor=F, patience=EPOCHS, threshold=SHARE and ",
        "minimum=RATE of plateau, rise=SHARE of one_cycle"));
  }
  return absl::OkStatus();
}

}  // namespace

double Schedule::At(int64_t step, int64_t steps) const {
  if (step < warm_up) return static_cast<double>(step + 1) / static_cast<double>(warm_up);
  const auto done = static_cast<double>(step - warm_up);
  const double share =
      std::clamp(done / static_cast<double>(std::max<int64_t>(1, steps - warm_up)), 0.0, 1.0);
  switch (kind) {
    case ScheduleKind::kConstant:
    case ScheduleKind::kPlateau:
      return 1;
    case ScheduleKind::kStep:
      return std::pow(factor, std::floor(done / static_cast<double>(every)));
    case ScheduleKind::kLinear:
      return 1 + (end - 1) * share;
    case ScheduleKind::kCosine:
      return Ease(1, end, share);
    case ScheduleKind::kOneCycle:
      return share < rise ? Ease(kFirstOfCycle, 1, share / rise)
                          : Ease(1, end, (share - rise) / (1 - rise));
  }
  return 1;
}

bool DependsOnLength(const Schedule& schedule) {
  return schedule.kind == ScheduleKind::kLinear || schedule.kind == ScheduleKind::kCosine ||
         schedule.kind == ScheduleKind::kOneCycle;
}

std::string ToString(const Schedule& schedule) {
  const auto& [kind, warm_up, every, factor, end, rise, patience, threshold, minimum] = schedule;
  std::string text;
  for (const auto& [name, of_name] : kNames) {
    if (of_name == kind) text = std::string(name);
  }
  absl::StrAppend(&text, ":warmup=", warm_up);
  if (kind == ScheduleKind::kStep) absl::StrAppend(&text, ",every=", every, ",factor=", factor);
  if (DependsOnLength(schedule)) absl::StrAppend(&text, ",end=", end);
  if (kind == ScheduleKind::kOneCycle) absl::StrAppend(&text, ",rise=", rise);
  if (kind == ScheduleKind::kPlateau) {
    absl::StrAppend(&text, ",factor=", factor, ",patience=", patience, ",threshold=", threshold,
                    ",minimum=", minimum);
  }
  return text;
}

void Plateau::Add(const Schedule& schedule, double rate, double loss) {
  const bool is_better = loss < best * (1 - schedule.threshold);
  if (is_better) best = loss;
  bad_epochs = is_better ? 0 : bad_epochs + 1;
  if (bad_epochs <= schedule.patience) return;
  bad_epochs = 0;
  const double old = rate * share;
  const double reduced = std::max(old * schedule.factor, schedule.minimum);
  if (old - reduced > kSmallestReduction) share = reduced / rate;
}

absl::StatusOr<Schedule> ParseSchedule(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& row) { return row.first == parts.first; });
  if (found == std::end(kNames)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no schedule '", parts.first,
                     "'; the schedules are constant, step, linear, cosine, plateau, one_cycle"));
  }
  Schedule schedule;
  schedule.kind = found->second;
  for (absl::string_view option : absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    TARTAN_RETURN_IF_ERROR(SetOption(pair.first, pair.second, &schedule));
  }
  if (schedule.kind == ScheduleKind::kPlateau && !(schedule.factor < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the factor of a plateau schedule, ", schedule.factor, ", is not below 1"));
  }
  return schedule;
}

}  // namespace tartan::train
