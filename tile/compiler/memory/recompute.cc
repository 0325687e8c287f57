// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/recompute.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tile/base/match.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/memory/rematerialize.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

// Number of drops to try first at a peak, in order of bytes saved per microsecond. Empirical.
constexpr size_t kFirstTried = 32;
// A source of a recomputed value is dropped, too, if it has more than 1/kMinSourceShare of the
// value's bytes. Empirical.
constexpr int64_t kMinSourceShare = 16;
// Maximum number of times that sources of dropped sources are followed. Empirical.
constexpr int kMaxSourceDepth = 8;
// Share of a core's peak arithmetic rate, for steps without a predicted time. Empirical.
constexpr double kUsualEfficiency = 0.25;

// Predicted time of a step: from its plan, else from its operations and bytes.
class StepTimes {
 public:
  explicit StepTimes(const HardwareSettings& settings)
      : machine_(settings),
        lanes_(static_cast<double>(std::max<int64_t>(1, settings.vector_width))) {}

  double Of(const KernelList& list, const Step& step) const {
    return Match(
        step,
        [&](const LaunchStep& launch) {
          return launch.predicted_us > 0 ? launch.predicted_us
                                         : Estimate(launch.flops, launch.bytes);
        },
        [&](const FillStep& fill) { return Estimate(0, Bytes(list, fill.buffer)); },
        [&](const CopyStep& copy) { return Estimate(0, 2 * Bytes(list, copy.to)); });
  }

 private:
  static double Bytes(const KernelList& list, int buffer) {
    return static_cast<double>(list.buffers[buffer].bytes);
  }

  double Estimate(double flops, double bytes) const {
    const double units = static_cast<double>(std::max<int64_t>(1, machine_.units));
    const double memory_us =
        machine_.is_cpu ? machine_.Microseconds(bytes / plan::cpu::kMemoryBytesPerCycle) / units
                        : bytes / machine_.memory_bytes_per_us;
    const double per_cycle = 2 * machine_.operations_per_cycle * lanes_ * kUsualEfficiency;
    const double compute_us = machine_.Microseconds(flops / per_cycle) / units;
    return machine_.launch_us + std::max(memory_us, compute_us);
  }

  const plan::Machine machine_;
  const double lanes_;  // elements of a vector
};

// Live bytes during each step of a sequence.
struct Profile {
  std::vector<int64_t> live;  // live bytes, by step of the sequence
  int64_t peak = 0;
  int peak_step = 0;
  double excess = 0;  // bytes above the target, summed over the steps of the list
};

Profile ProfileOf(const StepSequence& sequence, int slots, int64_t target) {
  const auto count = static_cast<int>(sequence.steps.size());
  Profile profile;
  std::vector<int64_t> change(sequence.steps.size() + 1, 0);
  for (const Lifetime& life : sequence.lifetimes) {
    if (life.first > life.last) continue;
    change[std::clamp(life.first, 0, count)] += life.bytes;
    change[life.last >= count ? count : life.last + 1] -= life.bytes;
  }
  std::vector<int64_t> most(static_cast<size_t>(slots), 0);
  int64_t live = 0;
  for (int s = 0; s < count; ++s) {
    live += change[s];
    profile.live.push_back(live);
    int64_t& slot = most[sequence.steps[s].slot];
    slot = std::max(slot, live);
    if (live <= profile.peak) continue;
    profile.peak = live;
    profile.peak_step = s;
  }
  for (const int64_t bytes : most)
    profile.excess += static_cast<double>(std::max<int64_t>(0, bytes - target));
  return profile;
}

struct Choice {
  std::set<Drop> drops;
  StepSequence sequence;
  Profile profile;
};

class Search {
 public:
  Search(const Rematerializer& rematerializer, int slots, int64_t budget)
      : rematerializer_(rematerializer), slots_(slots), budget_(budget) {}

  // Returns the fastest choice within the budget, or the one with the lowest peak if none is.
  Choice Run() {
    std::optional<Choice> best;
    // Each target leads to a different choice.
    for (const double share : {1.0, 0.9, 0.8, 0.65, 0.5}) {
      target_ = static_cast<int64_t>(static_cast<double>(budget_) * share);
      Choice choice = Reduced();
      if (choice.profile.peak > budget_) continue;
      choice = Pruned(std::move(choice));
      if (!best.has_value() || choice.sequence.us < best->sequence.us) best = std::move(choice);
    }
    if (best.has_value()) return *std::move(best);
    // Target 0 minimizes memory without regard to the budget.
    target_ = 0;
    Choice least = Reduced();
    return least.profile.peak > budget_ ? least : Pruned(std::move(least));
  }

  // Drops values until the budget is met, no drop helps or the next one exceeds `most_us`
  // microseconds of recomputation. Returns the choice with the lowest peak on the way.
  Choice RunWithin(double most_us) {
    target_ = budget_;
    return Reduced(most_us);
  }

 private:
  // Drops values until the budget is met, no drop helps or `most_us` is exceeded.
  Choice Reduced(double most_us = std::numeric_limits<double>::infinity()) const {
    Choice now = *Make({});
    Choice least = now;
    while (least.profile.peak > budget_) {
      std::optional<Choice> next = Best(now);
      if (!next.has_value() || next->sequence.us > most_us) break;
      now = *std::move(next);
      if (now.profile.peak < least.profile.peak) least = now;
    }
    return least;
  }

  std::optional<Choice> Make(std::set<Drop> drops) const {
    std::optional<StepSequence> sequence = rematerializer_.Sequence(drops);
    if (!sequence.has_value()) return std::nullopt;
    Profile profile = ProfileOf(*sequence, slots_, target_);
    return Choice{std::move(drops), *std::move(sequence), std::move(profile)};
  }

  // Returns the droppable buffers that are live but unused during a step: used before and after it.
  std::vector<Drop> Waiting(const Choice& now, int during) const {
    const size_t count = now.sequence.origin.size();
    std::vector<int> before(count, -1);
    std::vector<bool> waits(count, true);
    for (int s = 0; s <= during; ++s) {
      const StepSequence::Placed& placed = now.sequence.steps[s];
      const size_t uses = rematerializer_.used(placed.step).size();
      for (size_t u = 0; u < uses; ++u) {
        const int buffer = now.sequence.used[placed.used + u];
        before[buffer] = placed.slot;
        if (s == during) waits[buffer] = false;
      }
    }
    std::vector<Drop> waiting;
    for (size_t b = 0; b < count; ++b) {
      if (!waits[b] || before[b] < 0 || now.sequence.lifetimes[b].last <= during) continue;
      const Drop drop = {before[b], now.sequence.origin[b]};
      if (rematerializer_.CanDrop(drop) && now.drops.count(drop) == 0) waiting.push_back(drop);
    }
    return waiting;
  }

  // Sorted by bytes saved per microsecond, best first.
  std::vector<Drop> Candidates(const Choice& now) const {
    std::vector<Drop> candidates = Waiting(now, now.profile.peak_step);
    const auto worth = [&](const Drop& drop) {
      return static_cast<double>(now.sequence.lifetimes[drop.buffer].bytes) /
             rematerializer_.MicrosecondsFor(drop.buffer);
    };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Drop& a, const Drop& b) { return worth(a) > worth(b); });
    return candidates;
  }

  int64_t BytesOf(const Choice& choice, const Drop& drop) const {
    return choice.sequence.lifetimes[drop.buffer].bytes;
  }

  // Returns the position of the original step `step` in the sequence, not of a recomputed copy.
  static int PlaceOf(const Choice& choice, int step) {
    int at = 0;
    while (choice.sequence.steps[at].step != step || choice.sequence.steps[at].slot != step) ++at;
    return at;
  }

  // Extends a drop to buffers that stay live only to recompute the dropped one; they are
  // recomputed, too. Returns nothing if no such buffer is large enough.
  std::optional<Choice> WithSources(const Choice& now, const Choice& next, const Drop& drop) const {
    const int slot = now.sequence.steps[now.profile.peak_step].slot;
    const std::vector<Drop> waited = Waiting(now, PlaceOf(now, slot));
    std::optional<Choice> result;
    for (int depth = 0; depth < kMaxSourceDepth; ++depth) {
      const Choice& last = result.has_value() ? *result : next;
      std::set<Drop> drops = last.drops;
      for (const Drop& source : Waiting(last, PlaceOf(last, slot))) {
        const bool is_new = std::none_of(waited.begin(), waited.end(), [&](const Drop& other) {
          return other.buffer == source.buffer;
        });
        if (is_new && BytesOf(now, source) * kMinSourceShare > BytesOf(now, drop))
          drops.insert(source);
      }
      if (drops.size() == last.drops.size()) break;
      std::optional<Choice> more = Make(std::move(drops));
      if (!more.has_value()) break;
      result = std::move(more);
    }
    return result;
  }

  // Adds the best drop, with its sources if that is better. Returns nothing if no drop helps.
  std::optional<Choice> Best(const Choice& now) const {
    std::optional<Choice> best;
    double best_ratio = 0;
    const std::vector<Drop> candidates = Candidates(now);
    for (size_t c = 0; c < candidates.size(); ++c) {
      if (c >= kFirstTried && best.has_value()) break;
      std::set<Drop> drops = now.drops;
      drops.insert(candidates[c]);
      std::optional<Choice> next = Make(std::move(drops));
      if (!next.has_value()) continue;
      std::optional<Choice> with_sources = WithSources(now, *next, candidates[c]);
      for (std::optional<Choice>* choice : {&next, &with_sources}) {
        if (!choice->has_value()) continue;
        const double ratio = Ratio(now, **choice);
        if (ratio <= best_ratio) continue;
        best_ratio = ratio;
        best = std::move(*choice);
      }
    }
    return best;
  }

  // Bytes saved per additional microsecond; 0 if nothing is saved.
  static double Ratio(const Choice& now, const Choice& next) {
    const double saved = now.profile.excess - next.profile.excess;
    return std::max(0.0, saved) / std::max(1e-3, next.sequence.us - now.sequence.us);
  }

  // Undoes drops that later drops made unnecessary.
  Choice Pruned(Choice choice) const {
    const std::set<Drop> drops = choice.drops;
    for (const Drop& drop : drops) {
      std::set<Drop> fewer = choice.drops;
      fewer.erase(drop);
      std::optional<Choice> next = Make(std::move(fewer));
      if (!next.has_value() || next->profile.peak > budget_) continue;
      if (next->sequence.us <= choice.sequence.us) choice = *std::move(next);
    }
    return choice;
  }

  const Rematerializer& rematerializer_;
  const int slots_;
  const int64_t budget_;
  int64_t target_ = 0;  // bytes; live bytes above it count as excess
};

std::vector<double> TimesOf(const KernelList& list, const HardwareSettings& settings) {
  const StepTimes times(settings);
  std::vector<double> us;
  for (const Step& step : list.steps) us.push_back(times.Of(list, step));
  return us;
}

void Apply(const Rematerializer& rematerializer, const Choice& choice, int64_t peak,
           KernelList* list) {
  if (choice.drops.empty()) return;
  KernelList rematerialized = rematerializer.ListOf(choice.sequence);
  rematerialized.recomputed.steps =
      static_cast<int>(rematerialized.steps.size() - list->steps.size());
  rematerialized.recomputed.us = choice.sequence.us;
  rematerialized.recomputed.saved_bytes = peak - choice.profile.peak;
  *list = std::move(rematerialized);
}

}  // namespace

int64_t ResidentBytes(const KernelList& list) {
  int64_t bytes = 0;
  for (const BufferInfo& buffer : list.buffers) {
    if (!IsOfRun(buffer.kind)) bytes += buffer.bytes;
  }
  return bytes;
}

void Recompute(int64_t budget, const HardwareSettings& settings, KernelList* list) {
  const auto count = static_cast<int>(list->steps.size());
  const int64_t of_runs = std::max<int64_t>(0, budget - ResidentBytes(*list));
  const int64_t peak = PeakOf(LifetimesOf(*list), count).bytes;
  if (peak <= of_runs) return;
  const Rematerializer rematerializer(*list, TimesOf(*list, settings));
  Apply(rematerializer, Search(rematerializer, count, of_runs).Run(), peak, list);
}

void RecomputeCheapValues(const CheapRecomputation& limits, const HardwareSettings& settings,
                          KernelList* list) {
  const auto count = static_cast<int>(list->steps.size());
  const int64_t peak = PeakOf(LifetimesOf(*list), count).bytes;
  if (peak < limits.min_peak_bytes) return;
  const auto target = static_cast<int64_t>(static_cast<double>(peak) * (1 - limits.saved_share));
  std::vector<double> us = TimesOf(*list, settings);
  const double most_us = std::accumulate(us.begin(), us.end(), 0.0) * limits.time_share;
  const Rematerializer rematerializer(*list, std::move(us));
  Apply(rematerializer, Search(rematerializer, count, target).RunWithin(most_us), peak, list);
}

}  // namespace tartan::compiler
