// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_search.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "frontend/bench/comparison.h"
#include "frontend/bench/measure.h"
#include "frontend/bench/tartan_engine.h"
#include "frontend/bench/workload.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::bench {
namespace {

// Larger than the number of plans of any planner.
constexpr int kAllPlans = 1'000'000;

struct PlannedCall {
  poly::FlatContraction flat;
  plan::LaunchContext launch;
};

// A problem whose kernels can be compiled with other plans. A kernel is identified by its number,
// because the compiler requests plans in the same order at every compilation.
class Subject {
 public:
  static absl::StatusOr<Subject> Create(const Problem& problem, api::Device& device) {
    TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings, device.MeasuredSettings());
    Subject subject(device, settings);
    TARTAN_ASSIGN_OR_RETURN(subject.program_, MakeProgram(MakeWorkload(problem), problem.spec));
    subject.values_ = RandomValues(subject.program_.inputs);
    return subject;
  }

  const HardwareSettings& settings() const { return settings_; }
  const std::vector<PlannedCall>& calls() const { return calls_; }

  // Compiles the problem with `plan` for kernel number `kernel`; null: with the planner's choice.
  absl::StatusOr<std::unique_ptr<Engine>> Compile(int kernel, const plan::PlannedKernel* plan) {
    int next = 0;
    calls_.clear();
    compiler::CompileOptions options;
    options.settings = settings();
    compiler::CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      calls_.push_back({flat, launch});
      if (next++ == kernel && plan != nullptr) return *plan;
      return plan::PlanKernel(flat, settings(), launch);
    };
    TARTAN_ASSIGN_OR_RETURN(
        std::shared_ptr<const evaluator::CompiledProgram> compiled,
        evaluator::CompiledProgram::Create(program_.program, device_->hal(),
                                           opencl::DialectOf(settings()), options, hooks));
    return MakeTartanEngine(std::move(compiled), program_, values_);
  }

 private:
  Subject(api::Device& device, const HardwareSettings& settings)
      : device_(&device), settings_(settings) {}

  api::Device* device_;
  HardwareSettings settings_;
  WorkloadProgram program_;
  std::vector<HostTensor> values_;
  std::vector<PlannedCall> calls_;  // calls of the last compilation
};

// Returns the number of the kernel with the most iterations, in the order of the planner's calls.
int MainKernel(const std::vector<PlannedCall>& calls) {
  const auto points = [](const PlannedCall& call) {
    double count = 1;
    for (const auto& index : call.flat.indices) count *= static_cast<double>(index.range);
    return count;
  };
  const auto main = std::max_element(
      calls.begin(), calls.end(),
      [&](const PlannedCall& a, const PlannedCall& b) { return points(a) < points(b); });
  return static_cast<int>(main - calls.begin());
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Returns at most `most` of `count` positions: the first half consecutive, the rest spread evenly.
std::vector<size_t> Sample(size_t count, size_t most) {
  std::vector<size_t> positions;
  const size_t first = count <= most ? count : (most + 1) / 2;
  for (size_t i = 0; i < first; ++i) positions.push_back(i);
  const size_t rest = std::min(count, most) - first;
  for (size_t i = 0; i < rest; ++i) positions.push_back(first + i * (count - first) / rest);
  return positions;
}

double PlanningMs(const PlannedCall& call, const HardwareSettings& settings) {
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 3; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    plan::PlanKernel(call.flat, settings, call.launch);
    least = std::min(least, MillisecondsSince(start));
  }
  return least;
}

// Returns the minimum duration of an execution in a short measurement, which selects plans for
// closer measurement.
absl::StatusOr<double> MinMs(Engine& engine) {
  double least = std::numeric_limits<double>::infinity();
  TARTAN_RETURN_IF_ERROR(engine.Run(1));
  const auto begin = std::chrono::steady_clock::now();
  for (int turn = 0; turn < 20; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    TARTAN_RETURN_IF_ERROR(engine.Run(1));
    least = std::min(least, MillisecondsSince(start));
    if (turn >= 2 && MillisecondsSince(begin) > 100) break;
  }
  return least;
}

}  // namespace

absl::StatusOr<PlanSearchResult> SearchPlans(const Problem& problem, int most,
                                             api::Device& device) {
  TARTAN_ASSIGN_OR_RETURN(Subject subject, Subject::Create(problem, device));
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Engine> chosen, subject.Compile(-1, nullptr));
  PlanSearchResult result;
  result.spec = problem.spec;
  if (subject.calls().empty()) return result;  // no kernel is planned
  const int kernel = MainKernel(subject.calls());
  const PlannedCall call = subject.calls()[static_cast<size_t>(kernel)];
  result.planning_ms = PlanningMs(call, subject.settings());
  const std::vector<plan::PlannedKernel> plans =
      plan::PlanCandidates(call.flat, subject.settings(), call.launch, kAllPlans);
  result.plans = static_cast<int64_t>(plans.size());

  TARTAN_RETURN_IF_ERROR(chosen->Run(1));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor expected, chosen->Output());
  std::unique_ptr<Engine> best;
  for (const size_t position : Sample(plans.size(), static_cast<size_t>(std::max(most, 1)))) {
    const plan::PlannedKernel& plan = plans[position];
    TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, subject.Compile(kernel, &plan));
    TARTAN_ASSIGN_OR_RETURN(const double ms, MinMs(*engine));
    result.trials.push_back(
        {plan::ToString(plan.plan, plan.flat), plan.predicted_us, ms, plan.cost});
    TARTAN_ASSIGN_OR_RETURN(const HostTensor output, engine->Output());
    if (const double error = MaxError(output, expected); error > kTolerance) {
      return absl::DataLossError(absl::StrFormat(
          "%s: plans differ in their results by %.2g of the maximum element: number %d, %s",
          problem.spec, error, position + 1, result.trials.back().plan));
    }
    if (result.trials.size() > 1 && ms >= result.trials[result.best].ms) continue;
    result.best = static_cast<int>(result.trials.size()) - 1;
    best = std::move(engine);
  }
  if (result.best == 0) best = nullptr;
  // Recompiled, so that its memory is allocated as late as the best plan's memory.
  TARTAN_ASSIGN_OR_RETURN(chosen, subject.Compile(-1, nullptr));
  MeasureOptions options;
  options.seconds = 0.2;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Measurement> times,
                          best == nullptr ? Measure({chosen.get()}, options)
                                          : Measure({chosen.get(), best.get()}, options));
  result.chosen_ms = times.front().min_ms;
  result.best_ms = times.back().min_ms;
  if (result.best_ms >= result.chosen_ms) {
    result.best = 0;
    result.best_ms = result.chosen_ms;
  }
  return result;
}

std::string PlanSearchTable(absl::Span<const PlanSearchResult> results) {
  std::string text =
      "| problem | planned in ms | plans | tried | chosen ms | best ms | ratio | best is number | "
      "best plan |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  int measured = 0, within_15 = 0, within_35 = 0;
  for (const PlanSearchResult& result : results) {
    if (result.trials.empty()) continue;
    const double ratio = result.chosen_ms / result.best_ms;
    ++measured;
    within_15 += ratio <= 1.15;
    within_35 += ratio <= 1.35;
    absl::StrAppendFormat(&text, "| `%s` | %.1f | %d | %d | %.4g | %.4g | %.2f | %d | %s |\n",
                          result.spec, result.planning_ms, result.plans, result.trials.size(),
                          result.chosen_ms, result.best_ms, ratio, result.best + 1,
                          result.trials[static_cast<size_t>(result.best)].plan);
  }
  if (measured == 0) return text;
  absl::StrAppendFormat(&text,
                        "\nThe planner's choice is within 15 %% of the best on %d of %d problems "
                        "(%.0f %%), within 35 %% on %d (%.0f %%).\n",
                        within_15, measured, 100.0 * within_15 / measured, within_35,
                        100.0 * within_35 / measured);
  return text;
}

std::string TrialTable(const PlanSearchResult& result) {
  std::vector<size_t> by_time(result.trials.size());
  std::iota(by_time.begin(), by_time.end(), size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(),
                   [&](size_t a, size_t b) { return result.trials[a].ms < result.trials[b].ms; });
  std::string text = absl::StrCat("\n## `", result.spec,
                                  "`\n\n| trial | predicted us | ms | plan | cost |\n"
                                  "| ---: | ---: | ---: | --- | --- |\n");
  for (const size_t t : by_time) {
    const PlanTrial& trial = result.trials[t];
    absl::StrAppendFormat(&text, "| %d | %.1f | %.4g | %s | %s |\n", t + 1, trial.predicted_us,
                          trial.ms, trial.plan, trial.cost);
  }
  return text;
}

}  // namespace tartan::bench
