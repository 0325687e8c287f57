// SPDX-License-Identifier: Apache-2.0
// From lazy tensors to a program on a device. Internal to frontend/api.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tiers/tiered_program.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// What is loaded now: the same program with the same constants once (the iterations of a loop that
// is imported iteration by iteration), and what different programs compute from the same constants.
// Thread-safe.
class LoadedPrograms {
 public:
  LoadedPrograms() : LoadedPrograms(nullptr) {}
  // Programs become exact as `exact` says, whose pool is set here.
  // `pool`: what other programs have on the device; null: nothing.
  explicit LoadedPrograms(std::shared_ptr<ExactPrograms> exact,
                          std::shared_ptr<evaluator::ResidentPool> pool = nullptr);

  // `program`, whose kernels are ready ones or exact ones, on its device.
  absl::StatusOr<std::shared_ptr<TieredProgram>> Get(
      std::shared_ptr<const evaluator::CompiledProgram> program, bool is_ready,
      const proto::Program& source, const std::vector<HostTensor>& constants);
  // Null where programs stay what they are.
  const ExactPrograms* exact() const { return exact_.get(); }

  // What they are now, in the order in which they were loaded. `device` runs them.
  absl::StatusOr<std::vector<ProgramReport>> Explain(const Device& device);
  // Gives back the memory that was kept for runs to come.
  void ReleaseFreeFrames();
  // Makes all exact that are to become so; the first failure, after all were tried.
  absl::Status MakeExact();

 private:
  struct Entry {
    std::vector<HostTensor> constants;  // keep the memory they are told by
    std::weak_ptr<TieredProgram> program;
  };
  std::vector<std::shared_ptr<TieredProgram>> All();
  void ForgetReleased();

  const std::shared_ptr<ExactPrograms> exact_;
  const std::shared_ptr<evaluator::ResidentPool> pool_;
  std::mutex mutex_;  // held while something is loaded: it is loaded once
  std::vector<Entry> entries_;
};

// `result`, a failure for lack of memory counted in `statistics`.
template <class Result>
Result CountShortage(Result result, RunStatistics* statistics) {
  if (!result.ok() && absl::IsResourceExhausted(result.status())) ++statistics->memory_shortages;
  return result;
}

// Composes, compiles as the device's options say or, where `shared` tells of exact programs, takes
// such a one that is compiled already; sends constants to the device. Its inputs are
// `placeholders`, in that order. Adds to `statistics` what that took. `shared` may be null.
// Where `times`, how often a run computes it at most, is not 0 and that is little work, the host is
// what computes it as long as there are no exact kernels.
absl::StatusOr<std::shared_ptr<TieredProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics, LoadedPrograms* shared = nullptr,
    int64_t times = 0);

}  // namespace tartan::api
