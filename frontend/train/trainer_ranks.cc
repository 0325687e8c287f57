// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that joins it with other ranks.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/ranks/gradient_order.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/joint_statistics.h"
#include "frontend/train/ranks/update_spans.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr char kGradientState[] = "gradient/";
// Bytes. A process with 620 MiB that OpenCL and CUDA share ended on a host of two H200, before its
// first step; 325 MiB worked.
constexpr int64_t kLargestBuffer = int64_t{256} << 20;
// Number of buffers, if each is updated as soon as it has its sums. Each has a kernel of its own.
constexpr int64_t kEarlyUpdates = 8;

StateSpec JoinedSpec() { return {kJoined, {DataType::kFloat32, {kJoinedCount}}}; }

}  // namespace

bool TrainerPrograms::IsJoinedSum(absl::string_view state) {
  return state == kJoined || absl::StartsWith(state, kGradientState);
}

bool TrainerPrograms::IsSaved(absl::string_view state) const {
  if (state == kSums || state == kSkipped || (plan.joins && IsJoinedSum(state)) ||
      IsStatistics(state))
    return false;
  return !plan.shards || state == kScaleName || absl::StartsWith(state, kParameterState);
}

absl::Status TrainerPrograms::MakeJoinedSums() {
  if (!joined.empty()) return absl::OkStatus();
  const std::vector<const Parameter*> summed = InOrderOfGradients(*model, parameters);
  int64_t most = kLargestBuffer;
  if (UpdatesEarly()) {
    int64_t bytes = 0;
    for (const Parameter* parameter : summed) bytes += plan.SumShape(parameter->shape).byte_size();
    most = std::min(most, std::max(BucketBytes(), bytes / kEarlyUpdates));
    // Each update needs it, so that it has a bucket of its own, which is the first.
    TARTAN_RETURN_IF_ERROR(MakeSumBuffers({JoinedSpec()}, most).status());
    joined_states.back().insert(kSkipped);
  }
  std::vector<std::vector<const Parameter*>> divided = {summed};
  if (JoinsParameters(plan.optimizer) && !summed.empty()) divided = DivideByFactors(summed);
  for (const std::vector<const Parameter*>& group : divided)
    TARTAN_RETURN_IF_ERROR(MakeSumsOf(group, most, /*is_last=*/&group == &divided.back()));
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeSumsOf(const std::vector<const Parameter*>& summed, int64_t most,
                                         bool is_last) {
  std::vector<StateSpec> specs;
  for (const Parameter* parameter : summed)
    specs.push_back({StateName("gradient", parameter->name), plan.SumShape(parameter->shape)});
  if (is_last && !UpdatesEarly()) specs.push_back(JoinedSpec());
  const size_t first_bucket = joined.size();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<SumBuffer> made, MakeSumBuffers(specs, most));
  if (!JoinsParameters(plan.optimizer)) return absl::OkStatus();
  for (const SumBuffer& buffer : made) {
    if (buffer.first >= summed.size()) continue;
    const size_t count = std::min(buffer.positions.size(), summed.size() - buffer.first);
    const auto of_buffer = absl::MakeConstSpan(summed).subspan(buffer.first, count);
    TARTAN_RETURN_IF_ERROR(
        JoinUpdates(of_buffer, absl::MakeConstSpan(buffer.positions).first(count), buffer.memory));
    last_buckets.push_back(buffer.last_bucket);
  }
  // An early update writes parameters, so that the step must not need them any more.
  for (size_t b = first_bucket; b < joined.size() && UpdatesEarly(); ++b) {
    std::set<std::string> written;
    for (const std::string& state : joined_states[b])
      written.insert(StateName("parameter", state.substr(sizeof(kGradientState) - 1)));
    joined_states[b].merge(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SumBuffer>> TrainerPrograms::MakeSumBuffers(
    absl::Span<const StateSpec> specs, int64_t most) {
  // Elements, so that float32 tensors of the same layout are aligned, too.
  const int64_t width = ByteWidth(plan.sum_type);
  const int64_t unit = std::max<int64_t>(1, device->hal()->info().buffer_alignment / width);
  std::vector<int64_t> counts;
  for (const StateSpec& spec : specs) counts.push_back(spec.shape.byte_size() / width);
  std::vector<SumBuffer> buffers = LayOutSums(counts, unit, most / width);
  for (SumBuffer& buffer : buffers) {
    TARTAN_ASSIGN_OR_RETURN(buffer.memory, AllocateZeros(buffer.count * width));
    for (size_t i = 0; i < buffer.positions.size(); ++i) {
      const StateSpec& spec = specs[buffer.first + i];
      TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor tensor,
                              api::DeviceTensor::Within(*device, buffer.memory,
                                                        buffer.positions[i] * width, spec.shape));
      AddToBucket(spec.name, tensor, /*begins=*/i == 0 && UpdatesEarly());
      tensors.emplace(spec.name, std::move(tensor));
    }
    buffer.last_bucket = joined.size() - 1;
  }
  return buffers;
}

int64_t TrainerPrograms::BucketBytes() const {
  return options.bucket_bytes > 0 ? options.bucket_bytes : exchange()->bucket_bytes();
}

void TrainerPrograms::AddToBucket(const std::string& state, const api::DeviceTensor& tensor,
                                  bool begins) {
  int64_t bytes = 0;
  if (!joined.empty()) {
    for (const api::DeviceTensor& other : joined.back().tensors) bytes += other.shape().byte_size();
  }
  // A bucket is full with the tensor that reaches the size.
  if (joined.empty() || begins || bytes >= BucketBytes()) {
    joined.emplace_back();
    joined_states.emplace_back();
  }
  joined.back().tensors.push_back(tensor);
  joined_states.back().insert(state);
}

absl::Status TrainerPrograms::JoinUpdates(absl::Span<const Parameter* const> summed,
                                          absl::Span<const int64_t> positions,
                                          const hal::BufferPtr& sums) {
  Parameter span = Joined(summed, positions);
  span.name = absl::StrCat("span", updated.size());
  // A span begins with its buffer, so that no sub-buffer overlaps a parameter.
  const auto add_span = [&](absl::string_view kind, const hal::BufferPtr& whole, DataType type) {
    spans[StateName(kind, span.name)] =
        api::DeviceTensor::At(*device, whole, TensorShape{type, span.shape.dims});
  };
  updated.push_back(span);
  add_span("gradient", sums, plan.sum_type);
  std::vector<std::string> kinds = SlotNames(plan.optimizer);
  kinds.emplace_back("parameter");
  for (const std::string& kind : kinds) {
    TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr whole,
                            device->hal()->Allocate(span.shape.byte_size()));
    TARTAN_RETURN_IF_ERROR(FillWithZeros({whole, 0, whole->size()}));
    add_span(kind, whole, DataType::kFloat32);
    for (size_t p = 0; p < summed.size(); ++p) {
      TARTAN_RETURN_IF_ERROR(
          MoveState(kind, *summed[p], whole, positions[p] * ByteWidth(DataType::kFloat32)));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MoveState(absl::string_view kind, const Parameter& parameter,
                                        const hal::BufferPtr& whole, int64_t offset) {
  const StateSpec spec = {StateName(kind, parameter.name),
                          TensorShape{DataType::kFloat32, parameter.shape.dims}};
  api::DeviceTensor& state = tensors[spec.name];
  if (!state.defined()) {
    TARTAN_ASSIGN_OR_RETURN(state, MakeState(spec));
  }
  TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor moved,
                          api::DeviceTensor::Within(*device, whole, offset, spec.shape));
  TARTAN_RETURN_IF_ERROR(device->queue()->Enqueue([&](hal::Queue& queue) {
    return queue.Copy(state.buffer(), 0, moved.buffer(), 0, spec.shape.byte_size());
  }));
  state = std::move(moved);
  return absl::OkStatus();
}

absl::Status TrainerPrograms::WatchBuckets(absl::Span<const StateSpec> specs, Program* step) {
  std::vector<evaluator::StateGroup> groups = GroupsOf(step->gathers);
  if (plan.mode.joint_ranks > 0) {
    TARTAN_ASSIGN_OR_RETURN(groups, FindExchanges(specs, step));
  }
  for (const std::set<std::string>& states : joined_states) {
    std::vector<size_t>& group = groups.emplace_back().states;
    for (size_t s = 0; s < specs.size(); ++s) {
      if (states.count(specs[s].name) > 0) group.push_back(s);
    }
  }
  evaluator::StateHooks hooks;
  if (plan.shards && PassesGradients()) {
    hooks = HooksOf(*step);
  } else if (!step->exchanges.empty()) {
    hooks = ExchangeHooks();
  }
  return step->program->WatchStates(std::move(groups), std::move(hooks));
}

absl::StatusOr<std::vector<evaluator::StateGroup>> TrainerPrograms::FindExchanges(
    absl::Span<const StateSpec> specs, Program* step) {
  std::map<std::string, size_t> indices;
  for (size_t s = 0; s < specs.size(); ++s) indices[specs[s].name] = s;
  const std::vector<evaluator::StateUse> uses = step->program->StateUses();
  std::vector<GradientBucket> found;
  std::map<std::pair<int64_t, size_t>, std::vector<evaluator::StateGroup>> in_order;
  for (size_t k = 0; indices.count(OwnStatistics(k)) > 0; ++k) {
    const size_t own = indices.at(OwnStatistics(k));
    const size_t all = indices.at(AllStatistics(k));
    const api::DeviceTensor& part = step->states[own];
    const api::DeviceTensor& whole = step->states[all];
    GradientBucket& exchange = found.emplace_back();
    exchange.part = {part.buffer(), 0, part.shape().byte_size()};
    exchange.whole = {whole.buffer(), 0, whole.shape().byte_size()};
    if (uses[all].steps.empty()) continue;  // nothing needs the gradient of the network's input
    const int64_t read = uses[all].first;
    int64_t computed = 0;  // number of steps
    for (const int64_t use : uses[own].steps) {
      if (use < read) computed = use + 1;
    }
    if (computed == 0) {
      return absl::UnimplementedError(absl::StrCat(
          "batch statistics of all ranks: one kernel computes exchange ", k, " and reads it"));
    }
    in_order[{computed, k}] = {{{own}, 0, read}, {{all}}};
  }
  std::vector<evaluator::StateGroup> groups;
  step->exchanges.clear();
  for (auto& [place, pair] : in_order) {
    step->exchanges.push_back(static_cast<int64_t>(place.second));
    groups.insert(groups.end(), pair.begin(), pair.end());
  }
  statistics = std::move(found);
  return groups;
}

absl::Status TrainerPrograms::AgreeOnExchanges(const Program* step) {
  if (step == nullptr && steps.empty()) {
    return absl::UnimplementedError(
        "batch statistics of all ranks: the first batch has no example for this rank");
  }
  const size_t count = statistics.size();
  if (count == 0) return absl::OkStatus();
  constexpr int64_t kNone = -1;
  std::vector<int64_t> own(count, kNone);
  if (step != nullptr) std::copy(step->exchanges.begin(), step->exchanges.end(), own.begin());
  std::vector<int64_t> all(count * static_cast<size_t>(exchange()->ranks()));
  TARTAN_RETURN_IF_ERROR(exchange()->GatherBytes(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(own.data()), count * sizeof(own[0])),
      absl::MakeSpan(reinterpret_cast<uint8_t*>(all.data()), all.size() * sizeof(all[0]))));
  exchange_order.clear();
  for (auto begin = all.begin(); begin != all.end(); begin += static_cast<int64_t>(count)) {
    const auto end = std::find(begin, begin + static_cast<int64_t>(count), kNone);
    if (begin == end) continue;  // a rank without examples
    if (exchange_order.empty()) exchange_order.assign(begin, end);
    if (exchange_order == std::vector<int64_t>(begin, end)) continue;
    return absl::UnimplementedError(
        "batch statistics of all ranks: the kernels of two ranks have different orders");
  }
  computed_statistics.assign(exchange_order.size(), nullptr);
  gathered_statistics.clear();
  return absl::OkStatus();
}

absl::Status TrainerPrograms::StartExchanges() {
  for (size_t p = gathered_statistics.size(); p < exchange_order.size(); ++p) {
    if (computed_statistics[p] == nullptr) break;
    GradientBucket bucket = statistics[static_cast<size_t>(exchange_order[p])];
    bucket.computed = computed_statistics[p];
    TARTAN_ASSIGN_OR_RETURN(gathered_statistics.emplace_back(), exchange()->StartGather(bucket));
  }
  return absl::OkStatus();
}

evaluator::StateHooks TrainerPrograms::ExchangeHooks() {
  // Groups are pairs of the exchanges, then buckets of gradients.
  evaluator::StateHooks hooks;
  hooks.before = [this](size_t group, hal::Queue&) -> absl::Status {
    const size_t place = group / 2;
    if (group % 2 == 0 || place >= exchange_order.size()) return absl::OkStatus();
    if (place >= gathered_statistics.size())
      return absl::InternalError(absl::StrCat("exchange ", place, " of statistics has not begun"));
    return gathered_statistics[place]->Wait();
  };
  hooks.after = [this](size_t group, const hal::EventPtr& done) -> absl::Status {
    const size_t place = group / 2;
    if (group % 2 == 1 || place >= exchange_order.size()) return absl::OkStatus();
    computed_statistics[place] = done;
    return StartExchanges();
  };
  return hooks;
}

absl::Status TrainerPrograms::ExchangeWithoutExamples() {
  TARTAN_RETURN_IF_ERROR(AgreeOnExchanges(nullptr));
  for (const GradientBucket& bucket : statistics)
    TARTAN_RETURN_IF_ERROR(FillWithZeros(bucket.part));
  TARTAN_ASSIGN_OR_RETURN(const hal::EventPtr zeros, device->queue()->Mark());
  computed_statistics.assign(exchange_order.size(), zeros);
  TARTAN_RETURN_IF_ERROR(StartExchanges());
  return gathered_statistics.empty() ? absl::OkStatus() : gathered_statistics.back()->Wait();
}

absl::Status TrainerPrograms::AddOverRanks(const Program* step) {
  if (step == nullptr && plan.replaces_sums) {
    for (GradientBucket& bucket : joined) {
      if (bucket.HasPart()) TARTAN_RETURN_IF_ERROR(FillWithZeros(bucket.whole));
      for (api::DeviceTensor& tensor : bucket.tensors)
        TARTAN_RETURN_IF_ERROR(tensor.Assign(HostTensor::Zeros(tensor.shape())));
    }
  }
  std::vector<hal::EventPtr> events;
  if (step != nullptr && !options.profile) events = step->program->StateEvents();
  // Other buckets may have been added during the step.
  if (events.size() > joined.size()) events.erase(events.begin(), events.end() - joined.size());
  events.resize(joined.size());
  for (size_t b = 0; b < joined.size(); ++b) joined[b].computed = events[b];
  return apply.queue != nullptr ? exchange()->StartSums(*device, joined)
                                : exchange()->Sum(*device, joined);
}

absl::Status TrainerPrograms::AverageStatistics() {
  GradientBucket all;
  std::vector<api::DeviceTensor>& running = all.tensors;
  for (const Parameter& parameter : parameters) {
    if (parameter.is_trained || !parameter.is_state(plan.mode.batch_norm)) continue;
    const auto found = tensors.find(StateName("parameter", parameter.name));
    if (found != tensors.end()) running.push_back(found->second);
  }
  // The last rank has examples in every batch, so it has the joint statistics of all batches.
  const bool is_joint = plan.mode.joint_ranks > 0;
  if (is_joint && exchange()->rank() + 1 < exchange()->ranks()) {
    for (api::DeviceTensor& tensor : running)
      TARTAN_RETURN_IF_ERROR(tensor.Assign(HostTensor::Zeros(tensor.shape())));
  }
  TARTAN_RETURN_IF_ERROR(exchange()->Sum(*device, {all}));
  if (is_joint) return absl::OkStatus();
  for (api::DeviceTensor& tensor : running) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor sum, tensor.ToHost());
    std::vector<float> mean;
    for (const double value : sum.ToDoubles())
      mean.push_back(static_cast<float>(value / static_cast<double>(exchange()->ranks())));
    TARTAN_RETURN_IF_ERROR(tensor.Assign(HostTensor::FromVector(sum.shape(), mean)));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::AddProgress(std::vector<double>* sums, int64_t* skipped) {
  sums->resize(kSumCount);
  // The number of ranks that skip steps, and the sum of their numbers of steps, which are equal.
  const bool skips = *skipped > 0;
  sums->push_back(skips ? 1 : 0);
  sums->push_back(static_cast<double>(*skipped));
  TARTAN_RETURN_IF_ERROR(exchange()->SumNumbers(absl::MakeSpan(*sums)));
  const double steps = sums->back();
  sums->pop_back();
  const double ranks = sums->back();
  sums->pop_back();
  *skipped = ranks > 0 ? static_cast<int64_t>(steps / ranks + 0.5) : 0;
  return absl::OkStatus();
}

}  // namespace tartan::train
