// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/recompute.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tile/base/match.h"
#include "tile/compiler/memory/lifetimes.h"
#include "tile/compiler/memory/remade_steps.h"
#include "tile/plan/machine.h"

namespace tartan::compiler {
namespace {

// Of the values at a peak so many are tried first: those that save most for their time alone.
constexpr size_t kFirstTried = 32;
// What a value is made of is made again, too, where it has this share of its bytes, and so on.
constexpr int64_t kLeastSource = 16;
constexpr int kMostDepth = 8;
// A step without a prediction runs at this share of what a core can do, or at its share of memory.
constexpr double kUsualEfficiency = 0.25;

// As predicted by the step's plan, else by its work and the bytes it moves.
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
  const double lanes_;  // of a vector
};

// How much is there during each step of a sequence.
struct Profile {
  std::vector<int64_t> live;  // by step of the sequence
  int64_t peak = 0;
  int peak_step = 0;
  double excess = 0;  // bytes above the target, added up over the steps of the list
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
  Search(const StepRemaker& remaker, int slots, int64_t budget)
      : remaker_(remaker), slots_(slots), budget_(budget) {}

  // What takes least time of what was found within the budget; else what needs least memory.
  Choice Run() {
    std::optional<Choice> best;
    // Each target leads another way.
    for (const double share : {1.0, 0.9, 0.8, 0.65, 0.5}) {
      target_ = static_cast<int64_t>(static_cast<double>(budget_) * share);
      Choice choice = Reduced();
      if (choice.profile.peak > budget_) continue;
      choice = Pruned(std::move(choice));
      if (!best.has_value() || choice.sequence.us < best->sequence.us) best = std::move(choice);
    }
    if (best.has_value()) return *std::move(best);
    // This one ends where that of a user without hope does.
    target_ = 0;
    Choice least = Reduced();
    return least.profile.peak > budget_ ? least : Pruned(std::move(least));
  }

 private:
  // Less and less, until the budget is met or nothing helps any more.
  Choice Reduced() const {
    Choice now = *Make({});
    Choice least = now;
    while (least.profile.peak > budget_) {
      std::optional<Choice> next = Best(now);
      if (!next.has_value()) break;
      now = *std::move(next);
      if (now.profile.peak < least.profile.peak) least = now;
    }
    return least;
  }

  std::optional<Choice> Make(std::set<Drop> drops) const {
    std::optional<StepSequence> sequence = remaker_.Sequence(drops);
    if (!sequence.has_value()) return std::nullopt;
    Profile profile = ProfileOf(*sequence, slots_, target_);
    return Choice{std::move(drops), *std::move(sequence), std::move(profile)};
  }

  // What waits during a step of the sequence and may be given up: used before it and after it.
  std::vector<Drop> Waiting(const Choice& now, int during) const {
    const size_t count = now.sequence.origin.size();
    std::vector<int> before(count, -1);
    std::vector<bool> waits(count, true);
    for (int s = 0; s <= during; ++s) {
      const StepSequence::Placed& placed = now.sequence.steps[s];
      const size_t uses = remaker_.used(placed.step).size();
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
      if (remaker_.CanDrop(drop) && now.drops.count(drop) == 0) waiting.push_back(drop);
    }
    return waiting;
  }

  // Those of most worth first.
  std::vector<Drop> Candidates(const Choice& now) const {
    std::vector<Drop> candidates = Waiting(now, now.profile.peak_step);
    const auto worth = [&](const Drop& drop) {
      return static_cast<double>(now.sequence.lifetimes[drop.buffer].bytes) /
             remaker_.MicrosecondsFor(drop.buffer);
    };
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Drop& a, const Drop& b) { return worth(a) > worth(b); });
    return candidates;
  }

  int64_t BytesOf(const Choice& choice, const Drop& drop) const {
    return choice.sequence.lifetimes[drop.buffer].bytes;
  }

  // Where the sequence has a step of the list itself.
  static int PlaceOf(const Choice& choice, int step) {
    int at = 0;
    while (choice.sequence.steps[at].step != step || choice.sequence.steps[at].slot != step) ++at;
    return at;
  }

  // The same without what waits for the drop alone: it is made again, too. Nothing where that is
  // nothing of weight.
  std::optional<Choice> WithSources(const Choice& now, const Choice& next, const Drop& drop) const {
    const int slot = now.sequence.steps[now.profile.peak_step].slot;
    const std::vector<Drop> waited = Waiting(now, PlaceOf(now, slot));
    std::optional<Choice> result;
    for (int depth = 0; depth < kMostDepth; ++depth) {
      const Choice& last = result.has_value() ? *result : next;
      std::set<Drop> drops = last.drops;
      for (const Drop& source : Waiting(last, PlaceOf(last, slot))) {
        const bool is_new = std::none_of(waited.begin(), waited.end(), [&](const Drop& other) {
          return other.buffer == source.buffer;
        });
        if (is_new && BytesOf(now, source) * kLeastSource > BytesOf(now, drop))
          drops.insert(source);
      }
      if (drops.size() == last.drops.size()) break;
      std::optional<Choice> more = Make(std::move(drops));
      if (!more.has_value()) break;
      result = std::move(more);
    }
    return result;
  }

  // One drop more, perhaps with others that it needs; nothing where none helps.
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

  // What is saved for a microsecond more; 0 where nothing is.
  static double Ratio(const Choice& now, const Choice& next) {
    const double saved = now.profile.excess - next.profile.excess;
    return std::max(0.0, saved) / std::max(1e-3, next.sequence.us - now.sequence.us);
  }

  // Without the drops that the others have made superfluous.
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

  const StepRemaker& remaker_;
  const int slots_;
  const int64_t budget_;
  int64_t target_ = 0;  // what is above it counts as too much
};

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
  const StepTimes times(settings);
  std::vector<double> us;
  for (const Step& step : list->steps) us.push_back(times.Of(*list, step));
  const StepRemaker remaker(*list, std::move(us));
  const Choice choice = Search(remaker, count, of_runs).Run();
  if (choice.drops.empty()) return;
  KernelList remade = remaker.ListOf(choice.sequence);
  remade.recomputed.steps = static_cast<int>(remade.steps.size()) - count;
  remade.recomputed.us = choice.sequence.us;
  remade.recomputed.saved_bytes = peak - choice.profile.peak;
  *list = std::move(remade);
}

}  // namespace tartan::compiler
