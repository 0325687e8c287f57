// SPDX-License-Identifier: Apache-2.0
// Compiles lazy tensors and loads them as programs onto a device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "frontend/api/composer.h"
#include "frontend/api/device.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "frontend/api/tiers/tiered_program.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

struct SessionOptions;  // frontend/api/session.h

// The programs loaded now on a device. The same program with the same constants is loaded once
// (iterations of a loop that is imported iteration by iteration). Different programs share the
// values they compute from equal constants. Thread-safe.
class LoadedPrograms {
 public:
  // Programs have kernels of the device's tier and become exact as `exact` says; its pool is set
  // here. `exact` is null if programs keep their kernels. `pool` has the constants that other
  // programs have on the device; null: none.
  explicit LoadedPrograms(std::shared_ptr<const Device> device,
                          std::shared_ptr<ExactPrograms> exact = nullptr,
                          std::shared_ptr<evaluator::ResidentPool> pool = nullptr);
  // The programs of a session. `completes_compilations` as in ExactPrograms.
  LoadedPrograms(const Device& device, const SessionOptions& options,
                 bool completes_compilations = false);

  // The device with the tier of kernels that a run may wait for.
  const std::shared_ptr<const Device>& device() const { return device_; }

  // Compiles a program and sends its constants to the device. Uses an exact (shape-specialised)
  // program that is already compiled if programs become exact; otherwise compiles with the device's
  // options. Adds the times to `statistics`.
  //
  // `times` is the maximum number of times that a run computes the program. If it is not 0 and the
  // work is small, the host computes the program until exact kernels exist.
  absl::StatusOr<std::shared_ptr<TieredProgram>> Load(const ComposedProgram& composed,
                                                      RunStatistics* statistics, int64_t times);

  // Reports of the loaded programs in the order of loading.
  absl::StatusOr<std::vector<ProgramReport>> Explain();
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
  struct Compiled {
    std::shared_ptr<const evaluator::CompiledProgram> program;
    bool is_ready = false;
  };
  absl::StatusOr<Compiled> Compile(const ComposedProgram& composed, int64_t times) const;
  absl::StatusOr<std::shared_ptr<TieredProgram>> Get(const Compiled& compiled,
                                                     const proto::Program& source,
                                                     const std::vector<HostTensor>& constants);
  std::vector<std::shared_ptr<TieredProgram>> All();

  const std::shared_ptr<const Device> device_;
  const std::shared_ptr<ExactPrograms> exact_;
  const std::shared_ptr<evaluator::ResidentPool> pool_;
  std::mutex mutex_;  // held during a load, so that each program is loaded once
  std::vector<Entry> entries_;
};

// Counts a failure for lack of memory in `statistics`.
inline const absl::Status& CountShortage(const absl::Status& status, RunStatistics* statistics) {
  if (absl::IsResourceExhausted(status)) ++statistics->memory_shortages;
  return status;
}
// Returns `result` and counts its failure.
template <class T>
absl::StatusOr<T> CountShortage(absl::StatusOr<T> result, RunStatistics* statistics) {
  CountShortage(result.status(), statistics);
  return result;
}

// Composes and loads a program whose inputs are `placeholders`, in that order.
absl::StatusOr<std::shared_ptr<TieredProgram>> Load(LoadedPrograms& programs,
                                                    absl::Span<const Tensor> placeholders,
                                                    absl::Span<const Tensor> outputs,
                                                    absl::string_view name,
                                                    RunStatistics* statistics, int64_t times);

}  // namespace tartan::api
