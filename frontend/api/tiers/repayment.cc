// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/repayment.h"

#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/api/background/idle_time.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::api {
namespace {

// Time in ms to start a process with its compiler (LLVM); empirical.
constexpr double kStartMs = 700;
// Processor time in ms to plan and compile an exact kernel. Measured: 76 kernels of PP-OCR's
// classifier take 11.2 s on an EPYC.
constexpr double kKernelMs = 150;
// Share of a run's time that exact (shape-specialised) kernels save compared with ready
// (dynamic-shape) ones. Measured: ResNet-50 on two processors runs at 0.61 of the exact kernels'
// speed with ready ones.
constexpr double kSavedByReady = 0.4;
// Share saved compared with the host, which has no vector code, and number of kernels in a program
// of the host; empirical.
constexpr double kSavedByHost = 0.8;
constexpr double kHostKernels = 4;

// Counts the exact kernels: one per combination of kernel and launch sizes.
size_t CountExactKernels(const compiler::KernelList& list) {
  std::set<std::pair<int, std::vector<int64_t>>> kernels;
  for (const auto* steps : {&list.setup, &list.steps}) {
    for (const compiler::Step& step : *steps) {
      if (const auto* launch = std::get_if<compiler::LaunchStep>(&step)) {
        kernels.emplace(launch->kernel, launch->sizes);
      }
    }
  }
  return kernels.size();
}

}  // namespace

double DelayOfRuns(int processors, bool runs_on_processors) {
  if (processors <= IdleTime::kFewProcessors) return 0.5;
  return runs_on_processors ? 1.0 / processors : 0;
}

ExactForecast ForecastExact(const evaluator::CompiledProgram& program,
                            const hal::DeviceInfo& device) {
  const bool on_host = program.host() != nullptr;
  const double kernels =
      on_host ? kHostKernels : static_cast<double>(CountExactKernels(program.list()));
  const double delay = DelayOfRuns(IdleTime::OfProcess().processors(),
                                   on_host || device.type == hal::DeviceType::kCpu);
  return {delay * (kStartMs + kKernelMs * kernels), on_host ? kSavedByHost : kSavedByReady};
}

bool Repayment::AddRun(double ms) {
  ++runs_;
  lost_ms_ += forecast_.saved_share * ms;
  if (is_repaid_ || rule_.after_runs == 0 || runs_ < rule_.after_runs) return false;
  is_repaid_ = lost_ms_ >= rule_.lost_share * forecast_.cost_ms;
  return is_repaid_;
}

}  // namespace tartan::api
