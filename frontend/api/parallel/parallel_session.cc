// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/parallel_session.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/api/parallel/batch_split.h"
#include "frontend/api/parallel/device_worker.h"
#include "frontend/api/programs/plain_outputs.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

constexpr size_t kMaxKnownSizes = 4096;

using Outputs = absl::StatusOr<std::vector<HostValue>>;

// One device's part of a run.
struct Part {
  NamedValues inputs;
  RunStatistics statistics;
  std::vector<KernelProfile> profile;
  Outputs outputs = std::vector<HostValue>();
};

// Sizes of all inputs: runs with equal keys have the same parts, compiled already.
std::string SizesOf(const NamedValues& inputs) {
  std::string key;
  for (const auto& [name, value] : inputs) absl::StrAppend(&key, name, " ", Describe(value), "\n");
  return key;
}

// Adds counts and preparation times of a part. Parts that run at the same time lose the maximum of
// their preparation times.
void AddStatistics(const RunStatistics& part, bool is_concurrent, RunStatistics* sum) {
  const auto add = [&](double RunStatistics::*time) {
    sum->*time = is_concurrent ? std::max(sum->*time, part.*time) : sum->*time + part.*time;
  };
  for (const auto time :
       {&RunStatistics::bind_ms, &RunStatistics::compile_ms, &RunStatistics::setup_ms}) {
    add(time);
  }
  for (const auto count :
       {&RunStatistics::kernels, &RunStatistics::exact_programs, &RunStatistics::ready_programs,
        &RunStatistics::host_programs, &RunStatistics::cache_hits, &RunStatistics::cache_misses,
        &RunStatistics::memory_shortages}) {
    sum->*count += part.*count;
  }
}

double PreparedMs(const RunStatistics& run) { return run.bind_ms + run.compile_ms + run.setup_ms; }

// True if all rows of the split inputs are equal, so that repeating one changes nothing.
bool AreRowsAlike(const NamedValues& inputs, const NamedValues& repeated) {
  for (const auto& [name, value] : inputs) {
    const HostValue& other = repeated.at(name);
    if (!value.is_tensor()) continue;
    const auto bytes = value.tensor().bytes();
    const auto same = other.tensor().bytes();
    if (!std::equal(bytes.begin(), bytes.end(), same.begin(), same.end())) return false;
  }
  return true;
}

}  // namespace

struct ParallelSession::Impl {
  std::shared_ptr<const Model> model;
  std::vector<std::shared_ptr<Device>> devices;
  BatchSplit split;
  bool is_checked = false;  // rows are checked for independence
  std::vector<std::unique_ptr<Session>> sessions;
  // Declared after the sessions: destroyed first, so that no task outlives its session.
  std::vector<std::unique_ptr<DeviceWorker>> workers;
  std::atomic<bool> are_rows_independent = false;  // set by the first check that passes
  std::mutex mutex;
  std::set<std::string> known_sizes;  // guarded by mutex; runs with these sizes have succeeded

  Impl(std::shared_ptr<const Model> of, std::vector<std::shared_ptr<Device>> on, BatchSplit by)
      : model(std::move(of)), devices(std::move(on)), split(std::move(by)) {}

  absl::Status Named(size_t device, const absl::Status& status) const;
  bool IsKnown(const std::string& sizes);
  void RunParts(const std::shared_ptr<std::vector<Part>>& parts, bool is_concurrent,
                bool with_profile);
  absl::StatusOr<std::vector<HostValue>> Run(const NamedValues& inputs, RunStatistics* statistics,
                                             std::vector<KernelProfile>* profile);
  absl::Status CheckRows(const NamedValues& inputs, int64_t rows);
  absl::StatusOr<std::string> CheckRow(const NamedValues& inputs, int64_t rows, int64_t row);
};

// The status with the device's number and name, if there are several devices.
absl::Status ParallelSession::Impl::Named(size_t device, const absl::Status& status) const {
  if (status.ok()) return status;
  absl::Status named(
      status.code(),
      absl::StrCat("device ", device, " (", devices[device]->info().name, "): ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

bool ParallelSession::Impl::IsKnown(const std::string& sizes) {
  std::lock_guard<std::mutex> lock(mutex);
  return known_sizes.count(sizes) > 0;
}

// Tasks own the parts: an allocation that fails here may leave tasks running.
void ParallelSession::Impl::RunParts(const std::shared_ptr<std::vector<Part>>& parts,
                                     bool is_concurrent, bool with_profile) {
  std::vector<std::future<void>> ends;
  for (size_t p = 0; p < parts->size(); ++p) {
    auto task = std::make_shared<std::packaged_task<void()>>([this, parts, p, with_profile] {
      Part& part = (*parts)[p];
      part.outputs = sessions[p]->RunValues(part.inputs, &part.statistics,
                                            with_profile ? &part.profile : nullptr);
    });
    ends.push_back(task->get_future());
    workers[p]->Add([task] { (*task)(); });
    if (!is_concurrent) ends.back().wait();
  }
  for (const std::future<void>& end : ends) end.wait();
}

absl::StatusOr<std::vector<HostValue>> ParallelSession::Impl::Run(
    const NamedValues& inputs, RunStatistics* statistics, std::vector<KernelProfile>* profile) {
  const auto start = Clock::now();
  TARTAN_ASSIGN_OR_RETURN(const int64_t rows, split.CountRows(inputs));
  const std::vector<int64_t> sizes = DivideRows(rows, static_cast<int64_t>(devices.size()));
  const auto shared_parts = std::make_shared<std::vector<Part>>(sizes.size());
  std::vector<Part>& parts = *shared_parts;
  std::vector<NamedValues> split_inputs = split.Split(inputs, sizes);
  for (size_t p = 0; p < parts.size(); ++p) parts[p].inputs = std::move(split_inputs[p]);
  std::string key = SizesOf(inputs);
  const bool is_concurrent = IsKnown(key);
  RunParts(shared_parts, is_concurrent, profile != nullptr);

  RunStatistics sum;
  std::vector<std::vector<HostValue>> outputs;
  for (size_t p = 0; p < parts.size(); ++p) {
    AddStatistics(parts[p].statistics, is_concurrent, &sum);
    if (!parts[p].outputs.ok()) return Named(p, parts[p].outputs.status());
    outputs.push_back(*std::move(parts[p].outputs));
    if (profile == nullptr) continue;
    profile->insert(profile->end(), parts[p].profile.begin(), parts[p].profile.end());
  }
  absl::StatusOr<std::vector<HostValue>> joined =
      outputs.size() == 1 ? std::move(outputs[0]) : split.Join(outputs, sizes);
  if (!joined.ok()) return joined;
  AddStatistics(sum, false, statistics);
  statistics->latency_ms = std::max(0.0, MillisecondsSince(start) - PreparedMs(sum));
  if (sizes.size() > 1) TARTAN_RETURN_IF_ERROR(CheckRows(inputs, rows));
  std::lock_guard<std::mutex> lock(mutex);
  if (known_sizes.size() >= kMaxKnownSizes) known_sizes.clear();
  known_sizes.insert(std::move(key));
  return joined;
}

absl::Status ParallelSession::Impl::CheckRows(const NamedValues& inputs, int64_t rows) {
  if (!is_checked || are_rows_independent) return absl::OkStatus();
  const int64_t first = DivideRows(rows, static_cast<int64_t>(devices.size()))[0];
  const int64_t checked = std::max<int64_t>(first, 2);
  const NamedValues original = split.Split(inputs, {checked})[0];
  if (AreRowsAlike(original, split.RepeatRow(original, 0))) return absl::OkStatus();
  // A recurrence over the batch leaves its first or its last row alone.
  for (const int64_t row : {int64_t{0}, checked - 1}) {
    TARTAN_ASSIGN_OR_RETURN(const std::string differing, CheckRow(original, checked, row));
    if (differing.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "output '", differing,
        "' of a row depends on other rows of the batch, or on random numbers: the batch cannot be "
        "split over devices; run the model on one device"));
  }
  are_rows_independent = true;
  return absl::OkStatus();
}

// Returns the output whose row depends on other rows; empty if none does. Two tries, because
// shape-specialised kernels may replace others between two runs, which changes the rounding.
absl::StatusOr<std::string> ParallelSession::Impl::CheckRow(const NamedValues& inputs, int64_t rows,
                                                            int64_t row) {
  const NamedValues repeated = split.RepeatRow(inputs, row);
  std::string differing;
  for (int tries = 0; tries < 2; ++tries) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostValue> expected, sessions[0]->RunValues(inputs));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostValue> alone, sessions[0]->RunValues(repeated));
    TARTAN_RETURN_IF_ERROR(split.Join({expected}, {rows}).status());
    TARTAN_RETURN_IF_ERROR(split.Join({alone}, {rows}).status());
    differing = split.RowDifference(expected, alone, row);
    if (differing.empty()) break;
  }
  return differing;
}

absl::StatusOr<std::vector<std::string>> ParseSelectors(absl::string_view text) {
  std::vector<std::string> selectors;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    selectors.emplace_back(absl::StripAsciiWhitespace(part));
  }
  for (const std::string& selector : selectors) {
    if (selectors.size() == 1 || !selector.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' has an empty entry: several devices are indices or names, as in 0,1"));
  }
  return selectors;
}

absl::StatusOr<std::vector<std::shared_ptr<Device>>> OpenDevices(
    absl::Span<const std::string> selectors, const DeviceOptions& options) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const std::string& selector : selectors) {
    TARTAN_ASSIGN_OR_RETURN(devices.emplace_back(), Device::Open(selector, options));
  }
  return devices;
}

ParallelSession::ParallelSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParallelSession::~ParallelSession() = default;

const Model& ParallelSession::model() const { return *impl_->model; }
const std::vector<std::shared_ptr<Device>>& ParallelSession::devices() const {
  return impl_->devices;
}
Session& ParallelSession::session(size_t device) { return *impl_->sessions[device]; }

absl::StatusOr<std::unique_ptr<ParallelSession>> ParallelSession::Create(
    std::shared_ptr<const Model> model, std::vector<std::shared_ptr<Device>> devices,
    SessionOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<ParallelSession>> {
    if (devices.empty()) {
      return absl::InvalidArgumentError("a session on several devices has none");
    }
    TARTAN_ASSIGN_OR_RETURN(BatchSplit split, BatchSplit::Create(*model));
    options.pool = nullptr;
    auto impl = std::make_unique<Impl>(model, std::move(devices), std::move(split));
    impl->is_checked = !options.unchecked;
    for (size_t d = 0; d < impl->devices.size(); ++d) {
      auto session = Session::Create(model, impl->devices[d], options);
      if (!session.ok()) return impl->Named(d, session.status());
      impl->sessions.push_back(*std::move(session));
      TARTAN_ASSIGN_OR_RETURN(impl->workers.emplace_back(), DeviceWorker::Start());
    }
    return std::unique_ptr<ParallelSession>(new ParallelSession(std::move(impl)));
  });
}

absl::StatusOr<size_t> ParallelSession::CountUsed(
    const std::map<std::string, HostValue>& inputs) const {
  TARTAN_ASSIGN_OR_RETURN(const int64_t rows, impl_->split.CountRows(inputs));
  return DivideRows(rows, static_cast<int64_t>(impl_->devices.size())).size();
}

absl::StatusOr<std::vector<HostValue>> ParallelSession::RunValues(
    const std::map<std::string, HostValue>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<HostValue>> {
    RunStatistics ignored;
    return impl_->Run(inputs, statistics == nullptr ? &ignored : statistics, profile);
  });
}

absl::StatusOr<std::vector<HostTensor>> ParallelSession::Run(
    const std::map<std::string, HostTensor>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostValue> values,
                          RunValues({inputs.begin(), inputs.end()}, statistics, profile));
  return PlainOutputs(model(), values);
}

absl::Status ParallelSession::WaitForExact() {
  for (size_t d = 0; d < impl_->sessions.size(); ++d) {
    TARTAN_RETURN_IF_ERROR(impl_->Named(d, impl_->sessions[d]->WaitForExact()));
  }
  return absl::OkStatus();
}

}  // namespace tartan::api
