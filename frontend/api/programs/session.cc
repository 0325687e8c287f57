// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/session.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <iterator>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/programs/model_inputs.h"
#include "frontend/api/programs/plain_outputs.h"
#include "frontend/api/programs/segment.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Maximum number of segments. Beyond it, the path of a run depends too much on its values to
// repeat.
constexpr int kMaxStages = 1 << 13;

int CountSegments(const Segment& root) {
  int count = 0;
  std::vector<const Segment*> waiting = {&root};
  while (!waiting.empty()) {
    const Segment* segment = waiting.back();
    waiting.pop_back();
    ++count;
    for (const auto& [key, next] : segment->next) waiting.push_back(next.get());
  }
  return count;
}

using SegmentPtr = std::shared_ptr<Segment>;

// Returns the segment with this key and makes it the most recently used; null if there is none.
SegmentPtr FindSegment(SegmentList& segments, const std::string& key) {
  for (auto it = segments.begin(); it != segments.end(); ++it) {
    if (it->first != key) continue;
    segments.splice(segments.begin(), segments, it);
    return segments.front().second;
  }
  return nullptr;
}

}  // namespace

struct Session::Impl {
  std::shared_ptr<const Model> model;
  std::shared_ptr<Device> device;
  SessionOptions options;
  LoadedPrograms programs;

  Impl(std::shared_ptr<const Model> of, std::shared_ptr<Device> on, SessionOptions with)
      : model(std::move(of)),
        device(std::move(on)),
        options(std::move(with)),
        programs(*device, options),
        by_value(BoundByValue(*model)) {}

  // Held for lookups and updates, never during compilations or runs.
  std::mutex mutex;
  // Inputs bound by value: their values decide shapes (found while binding), or they are not plain
  // tensors.
  std::vector<bool> by_value;
  SegmentList roots;  // first segments by signature
  // Segments that threads are binding now, each identified by its predecessor (null: none) and key.
  using Place = std::pair<const Segment*, std::string>;
  std::set<Place> binding;
  std::condition_variable bound;

  std::string KeyAfter(const SegmentPtr& last, const InputValues& values,
                       const RunState& state) const;
  SegmentList& ListAfter(const SegmentPtr& last) { return last == nullptr ? roots : last->next; }
  // Returns the successor of `last` (the first segment if null) and binds it if it is new. After
  // binding, `state` is the state of a run at its last segment, which is returned. Returns null if
  // the run must restart because more values decide shapes than known before.
  absl::StatusOr<SegmentPtr> Next(const InputValues& values, const SegmentPtr& last,
                                  RunState* state, RunStatistics* statistics);
  absl::StatusOr<SegmentPtr> Bind(const InputValues& values, const SegmentPtr& last,
                                  const std::vector<bool>& known_by_value, RunState* state,
                                  RunStatistics* statistics);
  void Keep(const InputValues& values, const SegmentPtr& last, const RunState& state,
            SegmentPtr segment);
  absl::StatusOr<std::vector<HostValue>> Run(const InputValues& values, RunStatistics* statistics,
                                             std::vector<KernelProfile>* profile);
  // Runs once with the memory available now.
  absl::StatusOr<std::vector<HostValue>> TryRun(const InputValues& values,
                                                RunStatistics* statistics,
                                                std::vector<KernelProfile>* profile);
  // Drops the signature used longest ago, but never the one for `values`. Returns false if there is
  // no other.
  bool DropSignature(const InputValues& values);
};

std::string Session::Impl::KeyAfter(const SegmentPtr& last, const InputValues& values,
                                    const RunState& state) const {
  return last == nullptr ? SignatureOf(values, by_value) : state.results.back().Guard();
}

absl::StatusOr<SegmentPtr> Session::Impl::Next(const InputValues& values, const SegmentPtr& last,
                                               RunState* state, RunStatistics* statistics) {
  std::unique_lock<std::mutex> lock(mutex);
  Place place;
  std::vector<bool> known_by_value;
  while (true) {
    place = {last.get(), KeyAfter(last, values, *state)};
    if (SegmentPtr found = FindSegment(ListAfter(last), place.second)) return found;
    known_by_value = by_value;
    if (binding.insert(place).second) break;
    bound.wait(lock);
  }
  lock.unlock();
  const absl::Cleanup end_binding = [&] {
    std::lock_guard<std::mutex> relock(mutex);
    binding.erase(place);
    bound.notify_all();
  };
  return Bind(values, last, known_by_value, state, statistics);
}

absl::StatusOr<SegmentPtr> Session::Impl::Bind(const InputValues& values, const SegmentPtr& last,
                                               const std::vector<bool>& known_by_value,
                                               RunState* state, RunStatistics* statistics) {
  const auto start = Clock::now();
  const double others_ms = statistics->compile_ms + statistics->setup_ms;
  SegmentRecorder recorder(programs, model->name(), *state, last, !options.unchecked, statistics);
  TARTAN_ASSIGN_OR_RETURN(BoundGraph graph,
                          model->Bind(BindingsOf(values, known_by_value), &recorder));
  statistics->bind_ms +=
      MillisecondsSince(start) - (statistics->compile_ms + statistics->setup_ms - others_ms);
  bool more = false;
  for (int input : graph.needed_values) more |= !known_by_value[static_cast<size_t>(input)];
  if (more) {
    std::lock_guard<std::mutex> lock(mutex);
    for (int input : graph.needed_values) by_value[static_cast<size_t>(input)] = true;
    return SegmentPtr();
  }
  if (!graph.needed_values.empty()) {
    return absl::InternalError("the model requests values that it already has");
  }
  if (recorder.state().placeholders.empty()) recorder.Begin(graph.placeholders);
  TARTAN_ASSIGN_OR_RETURN(SegmentPtr first, recorder.Finish(std::move(graph.outputs)));
  Keep(values, last, *state, std::move(first));
  *state = recorder.state();
  return recorder.last();
}

// `state` belongs to a run that has reached `last`.
void Session::Impl::Keep(const InputValues& values, const SegmentPtr& last, const RunState& state,
                         SegmentPtr segment) {
  SegmentList dropped;  // released after unlocking
  std::lock_guard<std::mutex> lock(mutex);
  SegmentList& list = ListAfter(last);
  list.emplace_front(KeyAfter(last, values, state), std::move(segment));
  if (static_cast<int>(list.size()) > options.max_signatures) {
    dropped.splice(dropped.end(), list, std::prev(list.end()));
  }
  int count = 0;
  for (const auto& [signature, root] : roots) count += CountSegments(*root);
  if (count > kMaxStages) dropped.splice(dropped.end(), roots);
}

bool Session::Impl::DropSignature(const InputValues& values) {
  SegmentList dropped;  // released after unlocking
  std::lock_guard<std::mutex> lock(mutex);
  const std::string own = SignatureOf(values, by_value);
  for (auto root = roots.end(); root != roots.begin();) {
    --root;
    if (root->first == own) continue;
    dropped.splice(dropped.end(), roots, root);
    return true;
  }
  return false;
}

absl::StatusOr<std::vector<HostValue>> Session::Impl::Run(const InputValues& values,
                                                          RunStatistics* statistics,
                                                          std::vector<KernelProfile>* profile) {
  const RunStatistics before = *statistics;
  const size_t profiled_before = profile == nullptr ? 0 : profile->size();
  // Bounded, because other runs may add signatures meanwhile.
  for (int tries = 0;; ++tries) {
    const int64_t shortages_before = statistics->memory_shortages;
    absl::StatusOr<std::vector<HostValue>> outputs =
        CatchOutOfMemory([&] { return TryRun(values, statistics, profile); });
    if (outputs.status() == OutOfMemory()) ++statistics->memory_shortages;
    if (outputs.ok() || statistics->memory_shortages == shortages_before) return outputs;
    // Frees memory that is cheap to allocate again before anything else.
    programs.ReleaseFreeFrames();
    if (tries > options.max_signatures || (tries > 0 && !DropSignature(values))) return outputs;
    statistics->kernels = before.kernels;
    statistics->exact_programs = before.exact_programs;
    statistics->ready_programs = before.ready_programs;
    statistics->host_programs = before.host_programs;
    if (profile != nullptr) profile->resize(profiled_before);
  }
}

absl::StatusOr<std::vector<HostValue>> Session::Impl::TryRun(const InputValues& values,
                                                             RunStatistics* statistics,
                                                             std::vector<KernelProfile>* profile) {
  RunState state;
  const auto begin = [&] {
    state = {};
    for (const HostValue* value : values) {
      state.values.push_back(value == nullptr ? HostTensor() : value->tensor());
    }
  };
  begin();
  SegmentPtr segment;
  const double before_ms = statistics->bind_ms + statistics->compile_ms + statistics->setup_ms;
  const auto start = Clock::now();
  while (true) {
    TARTAN_ASSIGN_OR_RETURN(SegmentPtr next, Next(values, segment, &state, statistics));
    if (next == nullptr) {
      begin();
      segment = nullptr;
      continue;
    }
    segment = std::move(next);
    if (segment->is_last) break;
    TARTAN_RETURN_IF_ERROR(RunSegment(*segment, &state, statistics, profile));
  }
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostValue> outputs,
                          RunLastSegment(*segment, state, statistics, profile));
  const double prepared_ms =
      statistics->bind_ms + statistics->compile_ms + statistics->setup_ms - before_ms;
  statistics->latency_ms = std::max(0.0, MillisecondsSince(start) - prepared_ms);
  return outputs;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

const Model& Session::model() const { return *impl_->model; }
Device& Session::device() const { return *impl_->device; }

absl::StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<Device> device,
                                                         SessionOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    if (options.winograd) device = device->WithWinograd(*options.winograd);
    if (options.precision) device = device->WithPrecision(*options.precision);
    return std::unique_ptr<Session>(new Session(
        std::make_unique<Impl>(std::move(model), std::move(device), std::move(options))));
  });
}

absl::Status Session::WaitForExact() {
  return CatchOutOfMemory([&] { return impl_->programs.MakeExact(); });
}

absl::StatusOr<std::vector<ProgramReport>> Session::Explain() {
  return CatchOutOfMemory([&] { return impl_->programs.Explain(); });
}

absl::StatusOr<std::vector<HostValue>> Session::RunValues(
    const std::map<std::string, HostValue>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<HostValue>> {
    RunStatistics ignored;
    if (statistics == nullptr) statistics = &ignored;
    TARTAN_ASSIGN_OR_RETURN(const InputValues values, ArrangeInputs(*impl_->model, inputs));
    return impl_->Run(values, statistics, profile);
  });
}

std::future<absl::StatusOr<std::vector<HostTensor>>> Session::RunAsync(
    std::map<std::string, HostTensor> inputs) {
  const auto run = [this, inputs = std::move(inputs)] { return Run(inputs); };
  try {
    return std::async(std::launch::async, run);
  } catch (const std::system_error&) {  // no thread
    return std::async(std::launch::deferred, [done = run()] { return done; });
  }
}

absl::StatusOr<std::vector<HostTensor>> Session::Run(
    const std::map<std::string, HostTensor>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<HostTensor>> {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostValue> values,
                            RunValues({inputs.begin(), inputs.end()}, statistics, profile));
    return PlainOutputs(model(), values);
  });
}

}  // namespace tartan::api
