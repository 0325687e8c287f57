// SPDX-License-Identifier: Apache-2.0
// From lazy tensors to a program on a device. Internal to frontend/api.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// What is loaded now: the same program with the same constants once (the iterations of a loop that
// is imported iteration by iteration), and what different programs compute from the same constants.
// Thread-safe.
class LoadedPrograms {
 public:
  absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Get(
      std::shared_ptr<const evaluator::CompiledProgram> program,
      const std::vector<HostTensor>& constants);
  // Gives back the memory that was kept for runs to come.
  void ReleaseFreeFrames();

 private:
  struct Entry {
    const evaluator::CompiledProgram* program;
    std::vector<HostTensor> constants;  // keep the memory they are told by
    std::weak_ptr<evaluator::LoadedProgram> loaded;
  };
  void ForgetReleased();
  std::mutex mutex_;  // held while something is loaded: it is loaded once
  std::vector<Entry> entries_;
  evaluator::ResidentPool pool_;
};

// `result`, a failure for lack of memory counted in `statistics`.
template <class Result>
Result CountShortage(Result result, RunStatistics* statistics) {
  if (!result.ok() && absl::IsResourceExhausted(result.status())) ++statistics->memory_shortages;
  return result;
}

// Composes, compiles, sends constants to the device. Its inputs are `placeholders`, in that order.
// Adds to `statistics` what that took. `shared` may be null.
absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics, LoadedPrograms* shared = nullptr);

}  // namespace tartan::api
