// SPDX-License-Identifier: Apache-2.0
// Decides when background work may use processors that runs need too. Internal to frontend/api.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace tartan::api {

// Background work on machines with few processors proceeds only while no run is active. A loop of
// runs without pauses leaves no idle time, so background work gets a share of it (kShare). Exact
// (shape-specialised) kernels thus still arrive. Thread-safe.
class IdleTime {
 public:
  using Duration = std::chrono::nanoseconds;
  using Now = std::function<Duration()>;

  // Number of processors up to which background work must wait; more processors leave one to spare.
  static constexpr int kFewProcessors = 2;
  // Maximum gap between two runs of the same loop; empirical.
  static constexpr Duration kPause = std::chrono::milliseconds(20);
  // Background work proceeds at the beginning of each period of a loop of runs. Runs in that part
  // take up to 50 % longer (measured on two processors), so all runs together lose at most 1/12.
  // - kPeriod: length of a period.
  // - kShare: the background's part of a period.
  static constexpr Duration kPeriod = std::chrono::milliseconds(120);
  static constexpr double kShare = 1.0 / 6;

  static IdleTime& OfProcess();
  IdleTime(int processors, Now now) : processors_(processors), now_(std::move(now)) {}
  IdleTime(const IdleTime&) = delete;

  // Marks a run as active for its lifetime. Programs with states (DeviceProgram) make none: many
  // short decoder processes would otherwise never get exact kernels.
  class Run {
   public:
    explicit Run(IdleTime& time = OfProcess()) : time_(time) { time_.Begin(&time_.runs_); }
    ~Run() { time_.End(&time_.runs_); }
    Run(const Run&) = delete;

   private:
    IdleTime& time_;
  };

  // Marks, for its lifetime, that somebody waits for a compilation: background work stops on any
  // machine.
  class Hold {
   public:
    explicit Hold(IdleTime& time = OfProcess()) : time_(time) { time_.Begin(&time_.holds_); }
    ~Hold() { time_.End(&time_.holds_); }
    Hold(const Hold&) = delete;

   private:
    IdleTime& time_;
  };

  // A background process that `set` stops and continues; it starts running. `set` is called with
  // this object's mutex held, also by threads that begin a run.
  class Worker {
   public:
    using Set = std::function<void(bool goes_on)>;
    Worker(IdleTime& time, Set set);
    ~Worker();  // leaves the process in its current state
    Worker(const Worker&) = delete;

   private:
    friend class IdleTime;
    IdleTime& time_;
    const Set set_;
    bool goes_on_ = true;
  };

  // Returns whether background work may proceed now, and stops or continues all workers
  // accordingly. The background calls it every few milliseconds.
  bool MayWork();

  bool has_few_processors() const { return processors_ <= kFewProcessors; }
  int processors() const { return processors_; }

 private:
  void Begin(int* count);
  void End(int* count);
  bool Update();  // MayWork; requires the mutex

  const int processors_;
  const Now now_;
  std::mutex mutex_;
  int runs_ = 0;  // guarded by mutex_, as all members below
  int holds_ = 0;
  Duration last_end_ = -kPause;
  std::vector<Worker*> workers_;
};

}  // namespace tartan::api
