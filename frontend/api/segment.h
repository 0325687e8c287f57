// SPDX-License-Identifier: Apache-2.0
// A model bound to a signature: the programs its runs consist of, as a tree. Where a value decides
// what comes next the graph breaks, and a segment has one successor for each value (the guard) that
// it has met. Internal to frontend/api.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/device_runner.h"
#include "frontend/api/fetch.h"
#include "frontend/api/model.h"

namespace tartan::api {

struct Segment;
// By guard, the most recently used first.
using SegmentList = std::list<std::pair<std::string, std::shared_ptr<Segment>>>;

struct Segment {
  Segment() = default;
  Segment(const Segment&) = delete;
  // One after the other, however long the chain that goes with it.
  ~Segment();

  Fetch fetch;
  // Of the last segment of a run: what the fetched tensors are put into.
  bool is_last = false;
  std::vector<Value> outputs;
  // Of others: the graph break behind it. The operands are fetched first, then what is kept.
  size_t operand_count = 0;
  std::shared_ptr<const Call> call;
  std::unique_ptr<DeviceRunner> runner;  // of the call
  SegmentList next;                      // guarded by the session's mutex
};

// What one segment of a run has given.
struct SegmentResult {
  bool is_call = false;
  std::vector<HostTensor> results;
  std::vector<HostTensor> kept;

  // The guard of what follows: the values that were wanted, or the shapes of a call's results.
  std::string Guard() const;
};

// Values while a run goes from segment to segment.
struct RunState {
  std::vector<HostTensor> values;    // by placeholder
  std::vector<Tensor> placeholders;  // only while binding
  std::vector<SegmentResult> results;
};

// Runs a segment that is not the last and adds what it gives to the state.
absl::Status RunSegment(const Segment& segment, RunState* state, RunStatistics* statistics,
                        std::vector<KernelProfile>* profile);
// Runs the last one.
absl::StatusOr<std::vector<HostValue>> RunLastSegment(const Segment& segment, const RunState& state,
                                                      RunStatistics* statistics,
                                                      std::vector<KernelProfile>* profile);

// Resolves the importer's graph breaks: those met before in this run from its results, others by
// making a segment and running it.
class SegmentRecorder final : public Resolver {
 public:
  // `last`: the segment whose result is the last of the state's; null at the beginning of a
  // run.
  SegmentRecorder(const Device& device, LoadedPrograms& programs, std::string name, RunState state,
                  std::shared_ptr<Segment> last, bool is_checked, RunStatistics* statistics)
      : device_(device),
        programs_(programs),
        name_(std::move(name)),
        state_(std::move(state)),
        known_(state_.results.size()),
        last_(std::move(last)),
        is_checked_(is_checked),
        statistics_(statistics) {}

  void Begin(absl::Span<const Tensor> placeholders) override {
    state_.placeholders.assign(placeholders.begin(), placeholders.end());
  }
  absl::StatusOr<BreakResult> Resolve(const GraphBreak& graph_break) override;
  // Makes the segment of the outputs. Returns the first of the segments that were made: what comes
  // after `last`.
  absl::StatusOr<std::shared_ptr<Segment>> Finish(std::vector<Value> outputs);

  const RunState& state() const { return state_; }
  // The segment that Finish has made.
  const std::shared_ptr<Segment>& last() const { return last_; }

 private:
  void Append(std::shared_ptr<Segment> segment);
  BreakResult MakeResult(const SegmentResult& result, const GraphBreak& graph_break,
                         const std::string& name);
  DataType ResultType(DataType actual, const GraphBreak& graph_break) const;

  const Device& device_;
  LoadedPrograms& programs_;
  const std::string name_;
  RunState state_;
  const size_t known_;  // results that the run began with
  size_t met_ = 0;
  std::shared_ptr<Segment> last_;
  std::shared_ptr<Segment> first_made_;
  const bool is_checked_;
  RunStatistics* const statistics_;
};

}  // namespace tartan::api
