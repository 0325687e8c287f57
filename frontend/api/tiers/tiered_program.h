// SPDX-License-Identifier: Apache-2.0
// A program on a device whose kernels are exchanged for exact ones between two runs. Internal to
// frontend/api.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tiers/background.h"
#include "frontend/api/tiers/compare_kernels.h"
#include "proto/tile.pb.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// What the exact programs of a session have in common.
struct ExactPrograms {
  std::shared_ptr<const Device> device;  // that compiles exact kernels
  std::shared_ptr<evaluator::ResidentPool> pool;
  int after_runs = 0;  // of a program, its exact kernels are asked for; 0: never
  double host_ms = 0;  // that a run of a program may take the host until then
  // Called before each is compiled, by whichever thread does it: a failure stands for its own.
  std::function<absl::Status()> before_compile;
  std::atomic<bool> has_told_failure{false};
  bool compares_kernels = ComparesKernels();
};

// What one is made of.
struct ExactSource {
  std::shared_ptr<ExactPrograms> common;
  proto::Program program;
  std::vector<HostTensor> constants;
};

// Reports to the user, on stderr, why a program keeps its ready kernels.
void ReportNoExactKernels(const absl::Status& status);

// Thread-safe.
class TieredProgram : public std::enable_shared_from_this<TieredProgram> {
 public:
  // Stays as it is where `exact` is null; it is exact or, as the options of the device were, ready.
  // `source` is what it was compiled from.
  TieredProgram(std::shared_ptr<evaluator::LoadedProgram> loaded, bool is_ready,
                proto::Program source, std::shared_ptr<const ExactSource> exact = nullptr);

  // What a run is to use until it ends; notes it in `statistics`. After as many runs as the session
  // says exact kernels are asked for.
  std::shared_ptr<evaluator::LoadedProgram> Use(RunStatistics* statistics);
  // For debugging (ComparesKernels): the first run that used exact kernels gets the program with
  // the ready ones that they replaced; every other run gets null.
  std::shared_ptr<evaluator::LoadedProgram> TakeReplaced(const evaluator::LoadedProgram& used);
  std::shared_ptr<evaluator::LoadedProgram> loaded() const;
  bool is_ready() const;  // its kernels now are ready ones, or the host's
  const proto::Program& source() const { return source_; }

  // Exchanges the kernels now, in this thread, or waits for the thread that does. What failed once
  // fails again.
  absl::Status MakeExact();

 private:
  enum class State : uint8_t { kReady, kMaking, kSettled };
  using Making = absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>>;

  // Null where there is nothing to be made, or somebody makes it.
  std::shared_ptr<const ExactSource> BeginMaking();
  void EndMaking(Making made);
  // In the background, which holds no program that nobody else does.
  static void MakeInBackground(const std::weak_ptr<TieredProgram>& weak,
                               const Background::GoOn& go_on);
  void AskForExact();
  double Urgency() const;

  const proto::Program source_;
  const double cost_;  // of a run, for comparison with others
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::shared_ptr<evaluator::LoadedProgram> loaded_;    // guarded by mutex_, as all below
  std::shared_ptr<evaluator::LoadedProgram> replaced_;  // to be compared with
  bool is_ready_;
  int64_t runs_ = 0;
  State state_;
  std::shared_ptr<const ExactSource> exact_;
  absl::Status failure_;
};

}  // namespace tartan::api
