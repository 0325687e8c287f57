// SPDX-License-Identifier: Apache-2.0
// Decides when background work may use the processors that runs want too. Internal to
// frontend/api.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace tartan::api {

// The background works while no run is under way, on machines with few processors. A loop of runs
// without a pause leaves no such time: the background then has a share of it (kShare), so that
// kernels arrive all the same. Thread-safe.
class IdleTime {
 public:
  using Duration = std::chrono::nanoseconds;
  using Now = std::function<Duration()>;

  // A machine with more processors has one to spare for the background.
  static constexpr int kFewProcessors = 2;
  // A run that begins sooner after another one belongs to the same loop of runs.
  static constexpr Duration kPause = std::chrono::milliseconds(20);
  // The background works at the beginning of each period of a loop of runs. Runs in that part of a
  // period take up to half as long again (measured on two processors), so all runs together lose
  // at most a twelfth.
  static constexpr Duration kPeriod = std::chrono::milliseconds(120);
  static constexpr double kShare = 1.0 / 6;

  static IdleTime& OfProcess();
  IdleTime(int processors, Now now) : processors_(processors), now_(std::move(now)) {}
  IdleTime(const IdleTime&) = delete;

  // A run is under way as long as one lives. Programs with states (StepProgram) make none: many
  // short processes of a decoder would otherwise never come to exact kernels.
  class Run {
   public:
    explicit Run(IdleTime& time = OfProcess()) : time_(time) { time_.Begin(&time_.runs_); }
    ~Run() { time_.End(&time_.runs_); }
    Run(const Run&) = delete;

   private:
    IdleTime& time_;
  };

  // Somebody waits for a compilation as long as one lives: the background stops, on any machine.
  class Hold {
   public:
    explicit Hold(IdleTime& time = OfProcess()) : time_(time) { time_.Begin(&time_.holds_); }
    ~Hold() { time_.End(&time_.holds_); }
    Hold(const Hold&) = delete;

   private:
    IdleTime& time_;
  };

  // A process of the background, which `set` stops and continues. It goes on at first. `set` is
  // called with this object's mutex held, by the thread that begins a run too.
  class Worker {
   public:
    using Set = std::function<void(bool goes_on)>;
    Worker(IdleTime& time, Set set);
    ~Worker();  // leaves the process as it is
    Worker(const Worker&) = delete;

   private:
    friend class IdleTime;
    IdleTime& time_;
    const Set set_;
    bool goes_on_ = true;
  };

  // Returns whether the background may work now, and stops or continues all workers accordingly.
  // The background calls it every few milliseconds.
  bool MayWork();

  bool has_few_processors() const { return processors_ <= kFewProcessors; }
  int processors() const { return processors_; }

 private:
  void Begin(int* count);
  void End(int* count);
  bool Update();  // as MayWork, with the mutex held

  const int processors_;
  const Now now_;
  std::mutex mutex_;
  int runs_ = 0;  // guarded by mutex_, as all below
  int holds_ = 0;
  Duration last_end_ = -kPause;
  std::vector<Worker*> workers_;
};

}  // namespace tartan::api
