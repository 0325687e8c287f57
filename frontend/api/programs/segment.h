// SPDX-License-Identifier: Apache-2.0
// A model bound to a signature, as a tree of the programs that its runs execute. The graph breaks
// where a value decides how it continues. A segment has one successor per value (the guard) met so
// far. Internal to frontend/api.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/model.h"
#include "frontend/api/programs/compiled_function.h"
#include "frontend/api/programs/device_runner.h"

namespace tartan::api {

struct Segment;
// Successors by guard, the most recently used first.
using SegmentList = std::list<std::pair<std::string, std::shared_ptr<Segment>>>;

struct Segment {
  Segment() = default;
  Segment(const Segment&) = delete;
  // Destroys the chain of successors iteratively, without recursion.
  ~Segment();

  CompiledFunction function;
  // Set for the last segment of a run: the outputs that receive the fetched tensors.
  bool is_last = false;
  std::vector<Value> outputs;
  // Set for other segments: the graph break that ends the segment. Operands are fetched first, then
  // kept tensors.
  size_t operand_count = 0;
  std::shared_ptr<const Call> call;
  std::unique_ptr<DeviceRunner> runner;  // runs `call`
  SegmentList next;                      // guarded by the session's mutex
};

// Results of one segment of a run.
struct SegmentResult {
  bool is_call = false;
  std::vector<HostTensor> results;
  std::vector<HostTensor> kept;

  // The guard of the next segment: the wanted values, or the shapes of a call's results.
  std::string Guard() const;
};

// Values of a run between segments.
struct RunState {
  std::vector<HostTensor> values;    // one per placeholder
  std::vector<Tensor> placeholders;  // used only while binding
  std::vector<SegmentResult> results;
};

// Runs a segment other than the last and adds its results to the state.
absl::Status RunSegment(const Segment& segment, RunState* state, RunStatistics* statistics,
                        std::vector<KernelProfile>* profile);
// Runs the last segment.
absl::StatusOr<std::vector<HostValue>> RunLastSegment(const Segment& segment, const RunState& state,
                                                      RunStatistics* statistics,
                                                      std::vector<KernelProfile>* profile);

// Resolves the importer's graph breaks. Breaks met earlier in this run are resolved from its
// results; for a new break, a segment is made and run.
class SegmentRecorder final : public Resolver {
 public:
  // `last` is the segment that produced the last of the state's results; null at the beginning of a
  // run.
  SegmentRecorder(LoadedPrograms& programs, std::string name, RunState state,
                  std::shared_ptr<Segment> last, bool is_checked, RunStatistics* statistics)
      : programs_(programs),
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
  // Makes the segment of the outputs. Returns the first segment made, the successor of `last`.
  absl::StatusOr<std::shared_ptr<Segment>> Finish(std::vector<Value> outputs);

  const RunState& state() const { return state_; }
  // The segment made by Finish.
  const std::shared_ptr<Segment>& last() const { return last_; }

 private:
  void Append(std::shared_ptr<Segment> segment);
  BreakResult MakeResult(const SegmentResult& result, const GraphBreak& graph_break,
                         const std::string& name);
  DataType ResultType(DataType actual, const GraphBreak& graph_break) const;

  LoadedPrograms& programs_;
  const std::string name_;
  RunState state_;
  const size_t known_;  // number of results at the beginning
  size_t met_ = 0;
  std::shared_ptr<Segment> last_;
  std::shared_ptr<Segment> first_made_;
  const bool is_checked_;
  RunStatistics* const statistics_;
};

}  // namespace tartan::api
