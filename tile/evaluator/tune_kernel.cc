// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/tune_kernel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/base/clock.h"
#include "tile/base/host_tensor.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_kernel.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::evaluator {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the maximum element of a result
constexpr double kSampleMs = 2;      // ms per sample; short, so that few samples are interrupted
constexpr int kScreeningRounds = 3;
constexpr double kHopeless = 1.4;  // a plan this many times slower than the fastest is dropped
constexpr size_t kFinalists = 3;   // beside the cost model's choice
constexpr int64_t kMinRounds = 7;
// A winner's median time is at most kGain times that of the cost model's choice. It is also faster
// in a share of kMostRounds or more of the rounds.
constexpr double kGain = 0.97;
constexpr double kMostRounds = 0.8;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Positive values, so that sums do not cancel. Integers that index a tensor are 0.
std::vector<HostTensor> RandomOperands(const poly::FlatContraction& flat) {
  bool has_positions = false;
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    has_positions |= std::holds_alternative<poly::ReadAt>(expr.node);
  });
  std::mt19937 random(1);
  std::vector<HostTensor> operands;
  for (const poly::Tensor& tensor : flat.tensors) {
    const DataType type = tensor.shape.type;
    std::vector<uint8_t> bytes(tensor.shape.byte_size());
    for (int64_t i = 0; i < tensor.shape.element_count(); ++i) {
      const double unit = static_cast<double>(random()) / 4294967296.0;
      if (IsFloat(type)) {
        StoreElement(type, 0.25 + unit, i, bytes.data());
      } else {
        const bool is_bool = type == DataType::kBool;
        const int64_t value = is_bool ? (unit < 0.5 ? 0 : 1) : 1 + static_cast<int64_t>(3 * unit);
        StoreElement(type, has_positions && !is_bool ? int64_t{0} : value, i, bytes.data());
      }
    }
    operands.emplace_back(tensor.shape, bytes);
  }
  return operands;
}

// "" if two results agree.
std::string Difference(const HostTensor& actual, const HostTensor& expected) {
  double greatest = 0;
  double error = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = actual.GetDouble(i);
    const double b = expected.GetDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return absl::StrCat(a, " instead of ", b);
    error = std::max(error, std::abs(a - b));
  }
  if (error == 0) return "";
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double b = expected.GetDouble(i);
    if (std::isfinite(b)) greatest = std::max(greatest, std::abs(b));
  }
  if (error <= kTolerance * greatest) return "";
  return absl::StrFormat("results differ by %.3g, the maximum element is %.3g", error, greatest);
}

// Inputs of a repeated execution must survive it (PreparedRun).
void KeepInputs(compiler::KernelList* list) {
  for (const int input : list->inputs) {
    list->outputs.push_back(input);
    list->output_shapes.push_back(list->buffers[input].shape);
  }
}

// One plan, ready to execute.
struct Trial {
  plan::PlannedKernel planned;
  std::unique_ptr<PreparedRun> run;
  double estimate_ms = 0;
  std::vector<double> samples = {};

  absl::StatusOr<double> TimeMs(int64_t count) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < count; ++i) TARTAN_RETURN_IF_ERROR(run->Enqueue());
    TARTAN_RETURN_IF_ERROR(run->Finish());
    return MillisecondsSince(start) / static_cast<double>(count);
  }

  // A first, untimed execution warms the caches.
  absl::Status Sample() {
    TARTAN_RETURN_IF_ERROR(TimeMs(1).status());
    const auto count =
        static_cast<int64_t>(std::clamp(kSampleMs / std::max(estimate_ms, 1e-4), 1.0, 1000.0));
    TARTAN_ASSIGN_OR_RETURN(const double ms, TimeMs(count));
    samples.push_back(ms);
    return absl::OkStatus();
  }

  double Best() const { return *std::min_element(samples.begin(), samples.end()); }
};

class Tuning {
 public:
  Tuning(const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
         const hal::DevicePtr& device, const codegen::Dialect& dialect, const TuneOptions& options)
      : flat_(flat),
        is_constant_(is_constant),
        device_(device),
        dialect_(dialect),
        options_(options) {
    const std::vector<HostTensor> operands = RandomOperands(flat);
    for (size_t t = 0; t < operands.size(); ++t) {
      (is_constant[t] ? constants_ : inputs_).push_back(operands[t]);
    }
  }

  absl::StatusOr<TunedKernel> Run(std::vector<plan::PlannedKernel> plans) {
    for (plan::PlannedKernel& planned : plans) TARTAN_RETURN_IF_ERROR(Add(std::move(planned)));
    result_.tried = static_cast<int>(trials_.size());
    const auto end = Clock::now() + std::chrono::duration<double>(options_.seconds);
    for (int round = 0; round < kScreeningRounds; ++round) TARTAN_RETURN_IF_ERROR(Round());
    KeepFinalists();
    // The samples that selected the finalists would bias the result.
    for (Trial& trial : trials_) trial.samples.clear();
    const int64_t most = options_.rounds > 0 ? options_.rounds : INT64_MAX;
    for (int64_t round = 0; round < most; ++round) {
      if (options_.rounds == 0 && round >= kMinRounds && Clock::now() >= end) break;
      TARTAN_RETURN_IF_ERROR(Round());
    }
    Decide();
    return std::move(result_);
  }

 private:
  // Builds a plan, executes it and compares its result with the first plan's.
  absl::Status Add(plan::PlannedKernel planned) {
    const bool is_first = trials_.empty();
    const std::string text = plan::ToString(planned.plan, planned.flat);
    Trial trial = {std::move(planned), nullptr};
    std::string difference;
    const absl::Status prepared = Prepare(&trial, &difference);
    if (is_first) TARTAN_RETURN_IF_ERROR(prepared);
    if (!prepared.ok()) difference = std::string(prepared.message());
    if (difference.empty()) {
      trials_.push_back(std::move(trial));
    } else {
      result_.problems.push_back(absl::StrCat(text, ": ", difference));
    }
    return absl::OkStatus();
  }

  absl::Status Prepare(Trial* trial, std::string* difference) {
    compiler::CompileOptions options;
    TARTAN_ASSIGN_OR_RETURN(options.settings, device_->Settings(hal::Knowledge::kMeasured));
    TARTAN_ASSIGN_OR_RETURN(compiler::KernelList list,
                            compiler::CompileKernel(flat_, trial->planned, is_constant_, options));
    KeepInputs(&list);
    TARTAN_ASSIGN_OR_RETURN(auto built, CompiledProgram::Build(std::move(list), device_, dialect_));
    TARTAN_ASSIGN_OR_RETURN(auto loaded, LoadedProgram::Load(std::move(built), constants_));
    TARTAN_ASSIGN_OR_RETURN(trial->run, PreparedRun::Create(std::move(loaded), inputs_));
    TARTAN_RETURN_IF_ERROR(trial->TimeMs(1).status());  // some drivers compile at the first launch
    TARTAN_ASSIGN_OR_RETURN(trial->estimate_ms, trial->TimeMs(1));
    const bool is_first = expected_.empty();
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      TARTAN_ASSIGN_OR_RETURN(HostTensor output, trial->run->Output(o));
      if (is_first) {
        expected_.push_back(std::move(output));
      } else if (difference->empty()) {
        *difference = Difference(output, expected_[o]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Round() {
    for (Trial& trial : trials_) TARTAN_RETURN_IF_ERROR(trial.Sample());
    return absl::OkStatus();
  }

  // Keeps the first plan, and the fastest of the others.
  void KeepFinalists() {
    std::stable_sort(trials_.begin() + 1, trials_.end(),
                     [](const Trial& a, const Trial& b) { return a.Best() < b.Best(); });
    const double fastest =
        trials_.size() > 1 ? std::min(trials_[0].Best(), trials_[1].Best()) : trials_[0].Best();
    while (trials_.size() > 1 &&
           (trials_.size() > 1 + kFinalists || trials_.back().Best() > kHopeless * fastest)) {
      trials_.pop_back();
    }
  }

  void Decide() {
    const Trial& first = trials_.front();
    result_.before_ms = result_.after_ms = Median(first.samples);
    for (size_t t = 1; t < trials_.size(); ++t) {
      const Trial& trial = trials_[t];
      std::vector<double> ratios;
      for (size_t r = 0; r < first.samples.size(); ++r) {
        ratios.push_back(trial.samples[r] / first.samples[r]);
      }
      const auto faster =
          std::count_if(ratios.begin(), ratios.end(), [](double ratio) { return ratio < 1; });
      const double ms = Median(trial.samples);
      if (Median(ratios) > kGain || ms > kGain * result_.before_ms || ms >= result_.after_ms ||
          static_cast<double>(faster) < kMostRounds * static_cast<double>(ratios.size())) {
        continue;
      }
      result_.after_ms = ms;
      result_.winner = trial.planned;
    }
  }

  const poly::FlatContraction& flat_;
  const std::vector<bool>& is_constant_;
  const hal::DevicePtr& device_;
  const codegen::Dialect& dialect_;
  const TuneOptions& options_;
  std::vector<HostTensor> constants_;
  std::vector<HostTensor> inputs_;
  std::vector<HostTensor> expected_;
  std::vector<Trial> trials_;
  TunedKernel result_;
};

}  // namespace

absl::StatusOr<TunedKernel> MeasurePlans(const poly::FlatContraction& flat,
                                         const std::vector<bool>& is_constant,
                                         std::vector<plan::PlannedKernel> plans,
                                         const hal::DevicePtr& device,
                                         const codegen::Dialect& dialect,
                                         const TuneOptions& options) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  return Tuning(merged, is_constant, device, dialect, options).Run(std::move(plans));
}

absl::StatusOr<TunedKernel> TuneKernel(const poly::FlatContraction& flat,
                                       const plan::LaunchContext& launch,
                                       const hal::DevicePtr& device,
                                       const codegen::Dialect& dialect,
                                       const TuneOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const HardwareSettings settings,
                          device->Settings(hal::Knowledge::kMeasured));
  return MeasurePlans(flat, launch.is_constant,
                      plan::PlanCandidates(flat, settings, launch, std::max(options.candidates, 1)),
                      device, dialect, options);
}

}  // namespace tartan::evaluator
