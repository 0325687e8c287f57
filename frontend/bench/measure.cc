// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tile/base/status_macros.h"

namespace tartan::bench {
namespace {

constexpr double kTurnMs = 10;
constexpr int64_t kMinTurns = 5;
constexpr int64_t kMaxTurns = 100'000;

absl::StatusOr<double> TimeMs(Engine& engine, int64_t count) {
  const auto start = std::chrono::steady_clock::now();
  TARTAN_RETURN_IF_ERROR(engine.Run(count));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count() / static_cast<double>(count);
}

// The number of runs that fill a turn. The first run is not timed, because drivers finish their
// compilation in it.
absl::StatusOr<int64_t> RunsPerTurn(Engine& engine) {
  TARTAN_RETURN_IF_ERROR(engine.Run(1));
  int64_t count = 1;
  while (true) {
    TARTAN_ASSIGN_OR_RETURN(const double ms, TimeMs(engine, count));
    if (ms * static_cast<double>(count) >= kTurnMs / 4 || count >= 100'000) {
      return std::max<int64_t>(1, std::llround(kTurnMs / ms));
    }
    count *= 4;
  }
}

struct Track {
  Engine* engine;
  int64_t runs_per_turn;
  std::vector<double> samples;
};

Measurement Summarize(Track& track) {
  std::vector<double>& samples = track.samples;
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  Measurement measurement;
  measurement.median_ms =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  measurement.min_ms = samples.front();
  measurement.runs = track.runs_per_turn * static_cast<int64_t>(samples.size());
  return measurement;
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<Engine* const> engines,
                                                 const MeasureOptions& options) {
  std::vector<Track> tracks;
  for (Engine* engine : engines) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t runs, RunsPerTurn(*engine));
    tracks.push_back({engine, runs, {}});
  }
  using Clock = std::chrono::steady_clock;
  const auto budget = std::chrono::duration<double>(options.seconds * engines.size());
  const auto start = Clock::now();
  const auto is_done = [&](int64_t turns) {
    if (options.count > 0) return turns >= options.count;
    return turns >= kMaxTurns || (turns >= kMinTurns && Clock::now() - start >= budget);
  };
  for (int64_t turn = 0; !is_done(turn); ++turn) {
    for (Track& track : tracks) {
      TARTAN_RETURN_IF_ERROR(track.engine->Run(1));
      TARTAN_ASSIGN_OR_RETURN(const double ms, TimeMs(*track.engine, track.runs_per_turn));
      track.samples.push_back(ms);
    }
  }
  std::vector<Measurement> measurements;
  for (Track& track : tracks) measurements.push_back(Summarize(track));
  return measurements;
}

}  // namespace tartan::bench
