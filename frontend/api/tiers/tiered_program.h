// SPDX-License-Identifier: Apache-2.0
// A program on a device whose ready (dynamic-shape) kernels are replaced by exact
// (shape-specialised) ones between two runs. Internal to frontend/api.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "frontend/api/background/background.h"
#include "frontend/api/background/idle_time.h"
#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tiers/compare_kernels.h"
#include "frontend/api/tiers/repayment.h"
#include "proto/tile.pb.h"
#include "tile/base/clock.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// Settings shared by the exact programs of a session.
struct ExactPrograms {
  std::shared_ptr<const Device> device;  // compiles exact kernels
  std::shared_ptr<evaluator::ResidentPool> pool;
  RepaymentRule rule;      // when the exact kernels of a program are requested
  double host_ms = 0;      // maximum time in ms that the host computes a run until then
  bool only_host = false;  // the host computes everything; nothing becomes exact
  // Called before each compilation, by the compiling thread; its failure counts as the
  // compilation's.
  std::function<absl::Status()> before_compile;
  // A background compilation that has started completes, even if the program or the process ends
  // meanwhile: otherwise many short processes would never get exact kernels.
  bool completes_compilations = false;
  std::atomic<bool> has_reported_failure{false};
  bool compares_kernels = ComparesKernels();
};

// Inputs to the compilation of one exact program.
struct ExactSource {
  std::shared_ptr<ExactPrograms> common;
  proto::Program program;
  std::vector<HostTensor> constants;
};

// A program with its current kernels, and the way to exact ones. Thread-safe.
class TieredProgram : public std::enable_shared_from_this<TieredProgram> {
 public:
  // If `exact` is null, the program keeps its kernels, which are exact or, as the device's options
  // say, ready. `source` is the program before compilation.
  TieredProgram(std::shared_ptr<evaluator::LoadedProgram> loaded, bool is_ready,
                proto::Program source, std::shared_ptr<const ExactSource> exact = nullptr);

  // An active run for its lifetime. The program must outlive it.
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
  // Records in `statistics` the kind of kernels the run uses. Exact kernels are requested at the
  // end of the run at which they repay their compilation.
  Running Use(RunStatistics* statistics) { return Running(*this, BeginRun(statistics)); }
  // The same for runs that do not stop background compilations (IdleTime::Run).
  std::shared_ptr<evaluator::LoadedProgram> BeginRun(RunStatistics* statistics);
  void EndRun(double ms);
  // Debugging aid (ComparesKernels): the first run that used exact kernels gets the program with
  // the ready kernels they replaced; every other run gets null.
  std::shared_ptr<evaluator::LoadedProgram> TakeReplaced(const evaluator::LoadedProgram& used);
  std::shared_ptr<evaluator::LoadedProgram> loaded() const;
  bool is_ready() const;  // the current kernels are ready ones, or the host's
  const proto::Program& source() const { return source_; }

  // Replaces the kernels now, in this thread, or waits for the thread that is doing it. A failure
  // is permanent.
  absl::Status MakeExact();

 private:
  enum class State : uint8_t { kReady, kMaking, kSettled };
  using Making = absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>>;

  // Null if there is nothing to compile or another thread is compiling it.
  std::shared_ptr<const ExactSource> BeginMaking();
  void EndMaking(Making made);
  // Runs in the background, which does not keep the program alive.
  static void MakeInBackground(const std::weak_ptr<TieredProgram>& weak,
                               const Background::ContinueCallback& should_continue);
  void RequestExact();
  double Urgency() const;

  const proto::Program source_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::shared_ptr<evaluator::LoadedProgram> loaded_;  // guarded by mutex_, as all members below
  // The replaced kernels, until they are compared.
  std::shared_ptr<evaluator::LoadedProgram> replaced_;
  bool is_ready_;
  Repayment repayment_;
  State state_;
  std::shared_ptr<const ExactSource> exact_;
  absl::Status failure_;
};

}  // namespace tartan::api
