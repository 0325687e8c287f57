// SPDX-License-Identifier: Apache-2.0
// Loads lazy tensors as a program onto a device. Internal to frontend/api.
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

// The programs loaded now. The same program with the same constants is loaded once (iterations of a
// loop that is imported iteration by iteration). Different programs share the values they compute
// from equal constants. Thread-safe.
class LoadedPrograms {
 public:
  LoadedPrograms() : LoadedPrograms(nullptr) {}
  // Programs become exact as `exact` says; its pool is set here. `pool` has the constants that
  // other programs have on the device; null: none.
  explicit LoadedPrograms(std::shared_ptr<ExactPrograms> exact,
                          std::shared_ptr<evaluator::ResidentPool> pool = nullptr);

  // Loads `program`, whose kernels are ready (dynamic-shape) or exact (shape-specialised), onto its
  // device.
  absl::StatusOr<std::shared_ptr<TieredProgram>> Get(
      std::shared_ptr<const evaluator::CompiledProgram> program, bool is_ready,
      const proto::Program& source, const std::vector<HostTensor>& constants);
  // Null if programs keep their kernels.
  const ExactPrograms* exact() const { return exact_.get(); }

  // Reports of the loaded programs in the order of loading. `device` is the device that runs them.
  absl::StatusOr<std::vector<ProgramReport>> Explain(const Device& device);
  // Frees the memory kept for later runs.
  void ReleaseFreeFrames();
  // Makes every program exact that is due to become exact. Returns the first failure after trying
  // all.
  absl::Status MakeExact();

 private:
  struct Entry {
    // Keep alive the memory whose addresses identify the program.
    std::vector<HostTensor> constants;
    std::weak_ptr<TieredProgram> program;
  };
  std::vector<std::shared_ptr<TieredProgram>> All();
  void ForgetReleased();

  const std::shared_ptr<ExactPrograms> exact_;
  const std::shared_ptr<evaluator::ResidentPool> pool_;
  std::mutex mutex_;  // held during a load, so that each program is loaded once
  std::vector<Entry> entries_;
};

// Returns `result` and counts a failure for lack of memory in `statistics`.
template <class Result>
Result CountShortage(Result result, RunStatistics* statistics) {
  if (!result.ok() && absl::IsResourceExhausted(result.status())) ++statistics->memory_shortages;
  return result;
}

// Composes and compiles a program and sends its constants to the device. Uses an exact program that
// is already compiled if `shared` has exact programs; otherwise compiles with the device's options.
// The program's inputs are `placeholders`, in that order. Adds the times to `statistics`. `shared`
// may be null.
//
// `times` is the maximum number of times that a run computes the program. If it is not 0 and the
// work is small, the host computes the program until exact kernels exist.
absl::StatusOr<std::shared_ptr<TieredProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics, LoadedPrograms* shared = nullptr,
    int64_t times = 0);

}  // namespace tartan::api
