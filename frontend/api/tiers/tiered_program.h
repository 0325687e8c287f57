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
#include <utility>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tiers/background.h"
#include "frontend/api/tiers/compare_kernels.h"
#include "frontend/api/tiers/idle_time.h"
#include "frontend/api/tiers/repayment.h"
#include "proto/tile.pb.h"
#include "tile/base/clock.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// What the exact programs of a session have in common.
struct ExactPrograms {
  std::shared_ptr<const Device> device;  // that compiles exact kernels
  std::shared_ptr<evaluator::ResidentPool> pool;
  RepaymentRule rule;  // when the exact kernels of a program are requested
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

  // A run of the program under way, as long as this lives; the program must live longer.
  class Running {
   public:
    Running(TieredProgram& program, std::shared_ptr<evaluator::LoadedProgram> loaded)
        : program_(program), loaded_(std::move(loaded)), begin_(Clock::now()) {}
    ~Running() { program_.EndRun(MillisecondsSince(begin_)); }
    Running(const Running&) = delete;
    // The program that the run uses.
    evaluator::LoadedProgram* operator->() const { return loaded_.get(); }
    evaluator::LoadedProgram& operator*() const { return *loaded_; }

   private:
    const IdleTime::Run run_;
    TieredProgram& program_;
    const std::shared_ptr<evaluator::LoadedProgram> loaded_;
    const Clock::time_point begin_;
  };
  // Notes in `statistics` which kernels the run has. Exact ones are requested at the end of the run
  // by which they repay their compilation.
  Running Use(RunStatistics* statistics);
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

  void EndRun(double ms);
  // Null where there is nothing to be made, or somebody makes it.
  std::shared_ptr<const ExactSource> BeginMaking();
  void EndMaking(Making made);
  // In the background, which holds no program that nobody else does.
  static void MakeInBackground(const std::weak_ptr<TieredProgram>& weak,
                               const Background::GoOn& go_on);
  void AskForExact();
  double Urgency() const;

  const proto::Program source_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::shared_ptr<evaluator::LoadedProgram> loaded_;    // guarded by mutex_, as all below
  std::shared_ptr<evaluator::LoadedProgram> replaced_;  // to be compared with
  bool is_ready_;
  Repayment repayment_;
  State state_;
  std::shared_ptr<const ExactSource> exact_;
  absl::Status failure_;
};

}  // namespace tartan::api
