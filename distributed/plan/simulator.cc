// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/simulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <queue>

namespace tartan::plan_cluster {
namespace {

// SplitMix64: the same numbers on every machine, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // A number in (0, 1].
  double Uniform() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return (static_cast<double>(mixed >> 11) + 1) * 0x1p-53;
  }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  double Exponential(double mean) { return -mean * std::log(Uniform()); }

 private:
  uint64_t state_;
};

struct Event {
  enum class Kind : uint8_t { kBackwardEnd, kReady, kReduced, kUpdated };
  double time = 0;
  Kind kind = Kind::kReady;
  int64_t rank = 0;
  size_t reduction = 0;
  int64_t order = 0;  // events at one time keep the order of their addition

  bool operator<(const Event& other) const {  // the queue returns the maximum first
    return time != other.time ? time > other.time : order > other.order;
  }
};

class StepSimulation {
 public:
  StepSimulation(const StepSchedule& schedule, int64_t ranks, const StragglerModel& stragglers,
                 uint64_t seed)
      : schedule_(schedule),
        stragglers_(stragglers),
        random_(seed),
        slow_ranks_(std::llround(stragglers.slow_share * static_cast<double>(ranks))),
        ranks_(static_cast<size_t>(ranks)) {}

  // Returns the end of each step on its last rank.
  std::vector<double> Run(int64_t steps) {
    steps_ = steps;
    ends_.assign(static_cast<size_t>(steps), 0);
    ready_.assign(schedule_.reductions.size(), 0);
    if (steps == 0) return ends_;
    for (size_t r = 0; r < ranks_.size(); ++r) StartStep(static_cast<int64_t>(r), 0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
    }
    return ends_;
  }

 private:
  struct Rank {
    int64_t step = 0;
    double factor = 1;
    bool has_ended_backward = false;
  };
  void Add(Event event) {
    event.order = order_++;
    events_.push(event);
  }

  void StartStep(int64_t rank, double time) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    state.factor = rank < slow_ranks_ ? stragglers_.slow_factor : 1;
    if (stragglers_.jitter > 0) state.factor *= std::exp(stragglers_.jitter * random_.Normal());
    state.has_ended_backward = false;
    const double backward = time + state.factor * schedule_.forward_s;
    for (size_t i = 0; i < schedule_.reductions.size(); ++i) {
      const double ready = backward + state.factor * schedule_.reductions[i].ready_s;
      Add({ready, Event::Kind::kReady, rank, i});
    }
    Add({backward + state.factor * schedule_.backward_s, Event::Kind::kBackwardEnd, rank, 0});
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kReady:
        ++ready_[event.reduction];
        StartReduction(event.time);
        return;
      case Event::Kind::kReduced:
        is_reducing_ = false;
        if (++reduced_ == schedule_.reductions.size()) {
          for (size_t r = 0; r < ranks_.size(); ++r) MayUpdate(static_cast<int64_t>(r), event.time);
        } else {
          StartReduction(event.time);
        }
        return;
      case Event::Kind::kBackwardEnd:
        ranks_[static_cast<size_t>(event.rank)].has_ended_backward = true;
        MayUpdate(event.rank, event.time);
        return;
      case Event::Kind::kUpdated:
        EndStep(event.rank, event.time);
        return;
    }
  }

  // Starts the next reduction if no other is active and all ranks are ready for it.
  void StartReduction(double time) {
    if (is_reducing_ || reduced_ == schedule_.reductions.size()) return;
    if (ready_[reduced_] < ranks_.size()) return;
    ready_[reduced_] = 0;
    is_reducing_ = true;
    Add({time + schedule_.reductions[reduced_].duration_s, Event::Kind::kReduced, 0, reduced_});
  }

  // Starts the update of a rank once it has ended its backward pass and all gradients are reduced.
  void MayUpdate(int64_t rank, double time) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    if (!state.has_ended_backward || reduced_ < schedule_.reductions.size()) return;
    state.has_ended_backward = false;
    Add({time + state.factor * schedule_.update_s, Event::Kind::kUpdated, rank, 0});
    if (++updating_ < ranks_.size()) return;
    updating_ = 0;
    reduced_ = 0;  // all ranks are past the reductions of this step
  }

  void EndStep(int64_t rank, double time) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    double& end = ends_[static_cast<size_t>(state.step)];
    end = std::max(end, time);
    if (++state.step < steps_) StartStep(rank, time);
  }

  const StepSchedule& schedule_;
  const StragglerModel& stragglers_;
  Random random_;
  const int64_t slow_ranks_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event> events_;
  int64_t order_ = 0;
  int64_t steps_ = 0;
  std::vector<double> ends_;
  std::vector<size_t> ready_;  // ranks that are ready for each reduction of the current step
  size_t reduced_ = 0;         // reductions of the current step that have ended
  size_t updating_ = 0;        // ranks that have started the update of the current step
  bool is_reducing_ = false;
};

}  // namespace

double StepSchedule::step_s() const {
  double end = 0;
  for (const Reduction& reduction : reductions) {
    end = std::max(end, reduction.ready_s) + reduction.duration_s;
  }
  return forward_s + std::max(backward_s, end) + update_s;
}

std::vector<double> SimulateSteps(const StepSchedule& schedule, int64_t ranks, int64_t steps,
                                  const StragglerModel& stragglers, uint64_t seed) {
  std::vector<double> times = StepSimulation(schedule, ranks, stragglers, seed).Run(steps);
  for (size_t s = times.size(); s-- > 1;) times[s] -= times[s - 1];
  return times;
}

RunTime SimulateRun(absl::Span<const double> step_times, const FailureModel& model,
                    double interval_s, double useful_s, uint64_t seed) {
  Random random(seed);
  RunTime run;
  const auto next_failure = [&] {
    return model.mtbf_s > 0 ? random.Exponential(model.mtbf_s) : INFINITY;
  };
  double failure_in = next_failure();
  size_t step = 0;
  while (run.useful_s < useful_s) {
    double segment_s = 0;
    while (segment_s < interval_s && run.useful_s + segment_s < useful_s) {
      segment_s += step_times[step++ % step_times.size()];
    }
    const bool is_last = run.useful_s + segment_s >= useful_s;
    const double checkpoint_s = is_last ? 0 : model.checkpoint_s;
    if (segment_s + checkpoint_s <= failure_in) {
      failure_in -= segment_s + checkpoint_s;
      run.useful_s += segment_s;
      run.checkpoints_s += checkpoint_s;
      continue;
    }
    run.lost_s += failure_in;
    ++run.failures;
    while ((failure_in = next_failure()) < model.restart_s) {
      run.restarts_s += failure_in;
      ++run.failures;
    }
    run.restarts_s += model.restart_s;
    failure_in -= model.restart_s;
  }
  return run;
}

}  // namespace tartan::plan_cluster
