// SPDX-License-Identifier: Apache-2.0
// The part of a trainer that keeps a rank's part of the state.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/device_queue.h"
#include "frontend/train/ranks/gradient_order.h"
#include "frontend/train/ranks/joined_sums.h"
#include "frontend/train/ranks/norms.h"
#include "frontend/train/sharded/build_norms.h"
#include "frontend/train/trainer_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Bytes; the same on all ranks, whose devices may align less.
constexpr int64_t kAlignment = 512;
constexpr int64_t kFewElements = 1 << 16;  // of a small parameter
constexpr int64_t kFewBytes = 4 * kFewElements;
// Bytes of a bucket of parameters where the exchange has no limit: more than two are in memory.
constexpr int64_t kLargestGather = int64_t{64} << 20;

TensorShape Floats(int64_t count) { return {DataType::kFloat32, {count}}; }

HostTensor SliceOf(const HostTensor& whole, const ShardLayout::Segment& segment) {
  const TensorShape shape = Floats(segment.count);
  return HostTensor(
      shape, whole.bytes().subspan(static_cast<size_t>(segment.first * ByteWidth(shape.type)),
                                   static_cast<size_t>(shape.byte_size())));
}

absl::Status CheckDevice(const hal::DeviceInfo& info) {
  if (kAlignment % info.buffer_alignment != 0) {
    return absl::UnimplementedError(absl::StrCat("parts of the state need an alignment of ",
                                                 kAlignment, " bytes, not ",
                                                 info.buffer_alignment));
  }
  return absl::OkStatus();
}

}  // namespace

bool TrainerPrograms::KeepsPartsApart() const {
  return plan.shards && !device->hal()->info().sub_buffers_may_overlap;
}

absl::Status TrainerPrograms::MakeShards() {
  if (!joined.empty()) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(CheckDevice(device->hal()->info()));
  std::vector<const Parameter*> ordered = InOrderOfGradients(*model, parameters);
  // Programs complete the gradients of some biases and of narrow last layers late, and a bucket
  // with one of them would be in use until then. So small parameters are last.
  std::stable_partition(ordered.begin(), ordered.end(), [](const Parameter* parameter) {
    return parameter->shape.element_count() >= kFewElements;
  });
  std::vector<int64_t> counts;
  for (const Parameter* parameter : ordered) {
    shards->whole.push_back(*parameter);
    counts.push_back(parameter->shape.element_count());
    shards->names.push_back(parameter->name);
    shards->shapes.push_back({DataType::kFloat32, parameter->shape.dims});
  }
  int64_t full = options.bucket_bytes;
  if (full == 0) {
    full = exchange()->bucket_bytes();
    if (DividesParameters()) full = std::min(full, kLargestGather);
  }
  // Buckets of one large parameter each share memory without sub-buffers.
  if (PassesGradients() && KeepsPartsApart()) full = std::min(full, kFewBytes);
  shards->layout = LayOutShards(counts, exchange()->ranks(), kAlignment, full);
  shards->rank = exchange()->rank();
  shards->owned = shards->layout.SegmentsOf(shards->rank);
  TARTAN_RETURN_IF_ERROR(AllocateShards());
  TARTAN_RETURN_IF_ERROR(MakeShardBuckets());
  TARTAN_RETURN_IF_ERROR(MakeSegments());
  TARTAN_RETURN_IF_ERROR(MakeWholeTensors());
  TARTAN_RETURN_IF_ERROR(AssignParameters());
  TARTAN_ASSIGN_OR_RETURN(const hal::BufferPtr numbers, AllocateZeros(kAlignment));
  TARTAN_ASSIGN_OR_RETURN(tensors[kJoined],
                          api::DeviceTensor::Within(*device, numbers, 0, Floats(kJoinedCount)));
  joined.push_back({{tensors[kJoined]}, nullptr, {}, {}});
  joined_states.push_back({kJoined});
  return absl::OkStatus();
}

absl::StatusOr<hal::BufferPtr> TrainerPrograms::AllocateZeros(int64_t bytes) const {
  TARTAN_ASSIGN_OR_RETURN(hal::BufferPtr made, exchange()->Allocate(*device, bytes));
  TARTAN_RETURN_IF_ERROR(FillWithZeros({made, 0, bytes}));
  return made;
}

absl::Status TrainerPrograms::FillWithZeros(const MemoryRange& range) const {
  const std::vector<uint8_t> zero(range.bytes % 4 == 0 ? 4 : 1);
  return device->queue()->Enqueue(
      [&](hal::Queue& queue) { return queue.Fill(range.buffer, range.offset, range.bytes, zero); });
}

absl::Status TrainerPrograms::AllocateShards() {
  const ShardLayout& layout = shards->layout;
  const auto allocate = [&](bool is_divided, DividedMemory* memory,
                            BucketMemory* buckets) -> absl::Status {
    if (!is_divided) {
      TARTAN_ASSIGN_OR_RETURN(memory->whole, AllocateZeros(layout.bytes));
    }
    if (is_divided || KeepsPartsApart()) {
      TARTAN_ASSIGN_OR_RETURN(memory->parts, AllocateZeros(layout.bytes / layout.ranks));
    }
    buckets->own.resize(layout.buckets.size());
    for (size_t b = 0; b < layout.buckets.size(); ++b) {
      const ShardLayout::Bucket& bucket = layout.buckets[b];
      if (!is_divided || !KeepsPartsApart() || bucket.tensors.size() == 1) continue;
      TARTAN_ASSIGN_OR_RETURN(buckets->own[b], AllocateZeros(bucket.size));
    }
    return absl::OkStatus();
  };
  TARTAN_RETURN_IF_ERROR(
      allocate(PassesGradients(), &shards->gradient_memory, &shards->gradient_buckets));
  return allocate(DividesParameters(), &shards->parameter_memory, &shards->parameter_buckets);
}

absl::Status TrainerPrograms::MakeShardBuckets() {
  const auto bucket_of = [&](const DividedMemory& memory, size_t b) {
    GradientBucket bucket;
    bucket.whole = shards->WholeOf(memory, b);
    bucket.part = shards->PartOf(memory, b);
    return bucket;
  };
  for (size_t b = 0; b < shards->layout.buckets.size(); ++b) {
    if (!PassesGradients()) joined.push_back(bucket_of(shards->gradient_memory, b));
    if (!DividesParameters()) shards->parameters.push_back(bucket_of(shards->parameter_memory, b));
    std::set<std::string>& states = joined_states.emplace_back();
    for (const size_t t : shards->layout.buckets[b].tensors)
      states.insert(StateName("gradient", shards->names[t]));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeSegments() {
  for (const ShardLayout::Segment& owned : shards->owned) {
    Parameter& segment = shards->segments.emplace_back(shards->whole[owned.tensor]);
    absl::StrAppend(&segment.name, "[", owned.first, ":", owned.first + owned.count, "]");
    segment.shape = Floats(owned.count);
    const auto make_view = [&](const char* kind, const DividedMemory& memory) -> absl::Status {
      const MemoryRange part = shards->PartOf(memory, owned.bucket);
      const int64_t place = part.offset + owned.offset - shards->rank * part.bytes;
      TARTAN_ASSIGN_OR_RETURN(
          shards->views[StateName(kind, segment.name)],
          api::DeviceTensor::Within(*device, part.buffer, place, segment.shape));
      return absl::OkStatus();
    };
    TARTAN_RETURN_IF_ERROR(make_view("gradient", shards->gradient_memory));
    TARTAN_RETURN_IF_ERROR(make_view("parameter", shards->parameter_memory));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::MakeWholeTensors() {
  const ShardLayout& layout = shards->layout;
  const auto make = [&](const char* kind, const DividedMemory& memory) -> absl::Status {
    for (size_t t = 0; t < shards->names.size() && memory.whole != nullptr; ++t) {
      const int64_t place = layout.buckets[layout.bucket_of[t]].offset + layout.offsets[t];
      TARTAN_ASSIGN_OR_RETURN(
          tensors[StateName(kind, shards->names[t])],
          api::DeviceTensor::Within(*device, memory.whole, place, shards->shapes[t]));
    }
    return absl::OkStatus();
  };
  TARTAN_RETURN_IF_ERROR(make("gradient", shards->gradient_memory));
  return make("parameter", shards->parameter_memory);
}

absl::Status TrainerPrograms::AssignParameters() {
  for (size_t t = 0; t < shards->names.size(); ++t) {
    const StateSpec spec = {StateName("parameter", shards->names[t]), shards->shapes[t]};
    const bool is_owned = std::any_of(shards->owned.begin(), shards->owned.end(),
                                      [&](const auto& owned) { return owned.tensor == t; });
    if (DividesParameters() && !is_owned) {  // other ranks have it
      shards->restored.erase(spec.name);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(const std::optional<HostTensor> first, FirstValue(spec));
    if (const auto whole = tensors.find(spec.name); whole != tensors.end())
      TARTAN_RETURN_IF_ERROR(whole->second.Assign(*first));
    TARTAN_RETURN_IF_ERROR(AssignSegments("parameter", t, *first));
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::AssignSegments(absl::string_view kind, size_t tensor,
                                             const HostTensor& value) {
  for (size_t s = 0; s < shards->owned.size(); ++s) {
    const ShardLayout::Segment& owned = shards->owned[s];
    if (owned.tensor != tensor) continue;
    const std::string name = StateName(kind, shards->segments[s].name);
    const auto view = shards->views.find(name);
    api::DeviceTensor& part = view != shards->views.end() ? view->second : tensors.at(name);
    TARTAN_RETURN_IF_ERROR(part.Assign(SliceOf(value, owned)));
  }
  return absl::OkStatus();
}

std::optional<HostTensor> TrainerPrograms::TakeRestored(const StateSpec& spec) {
  std::map<std::string, HostTensor>& restored = shards->restored;
  if (auto found = restored.extract(spec.name); !found.empty())
    return Converted(found.mapped(), spec.shape);
  const size_t slash = spec.name.find('/');
  for (size_t s = 0; s < shards->segments.size(); ++s) {
    if (spec.name.compare(slash + 1, std::string::npos, shards->segments[s].name) != 0) continue;
    const ShardLayout::Segment& owned = shards->owned[s];
    const std::string kind = spec.name.substr(0, slash);
    auto found = restored.extract(StateName(kind, shards->names[owned.tensor]));
    if (!found.empty()) return SliceOf(found.mapped(), owned);
  }
  return std::nullopt;
}

absl::Status TrainerPrograms::ApplyShard(double rate) {
  if (plan.NeedsNorms()) {
    if (norms.program == nullptr) {
      TARTAN_ASSIGN_OR_RETURN(StepGraph graph, BuildNorms(shards->segments, plan));
      TARTAN_ASSIGN_OR_RETURN(norms, Make(std::move(graph), "norm"));
    }
    TARTAN_RETURN_IF_ERROR(norms.program->Start({}));
    api::DeviceTensor& tensor = tensors.at(kNorms);
    TARTAN_ASSIGN_OR_RETURN(const HostTensor own, tensor.ToHost());
    std::vector<double> sums = own.ToDoubles();
    TARTAN_RETURN_IF_ERROR(exchange()->SumNumbers(absl::MakeSpan(sums)));
    TARTAN_RETURN_IF_ERROR(tensor.Assign(
        HostTensor::FromVector(own.shape(), std::vector<float>(sums.begin(), sums.end()))));
  }
  TARTAN_RETURN_IF_ERROR(apply.program->Start({Numbers(rate)}));
  if (!PassesGradients()) {  // the update resets its own part only
    TARTAN_RETURN_IF_ERROR(FillWithZeros({shards->gradient_memory.whole, 0, shards->layout.bytes}));
  }
  return DividesParameters() ? absl::OkStatus() : exchange()->Gather(*device, shards->parameters);
}

absl::StatusOr<HostTensor> TrainerPrograms::ReadSegment(absl::string_view kind, size_t segment) {
  const std::string name = StateName(kind, shards->segments[segment].name);
  const auto view = shards->views.find(name);
  return view != shards->views.end() ? view->second.ToHost() : tensors.at(name).ToHost();
}

absl::Status TrainerPrograms::GatherKind(absl::string_view kind,
                                         std::map<std::string, HostTensor>* states) {
  const ShardLayout& layout = shards->layout;
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    const ShardLayout::Bucket& bucket = layout.buckets[b];
    const int64_t part = bucket.size / layout.ranks;
    std::vector<uint8_t> own(static_cast<size_t>(part));
    for (size_t s = 0; s < shards->owned.size(); ++s) {
      const ShardLayout::Segment& owned = shards->owned[s];
      if (owned.bucket != b) continue;
      TARTAN_ASSIGN_OR_RETURN(const HostTensor value, ReadSegment(kind, s));
      const absl::Span<const uint8_t> bytes = value.bytes();
      std::copy(bytes.begin(), bytes.end(),
                own.begin() + (owned.offset - exchange()->rank() * part));
    }
    std::vector<uint8_t> all(static_cast<size_t>(bucket.size));
    TARTAN_RETURN_IF_ERROR(exchange()->GatherBytes(own, absl::MakeSpan(all)));
    for (const size_t t : bucket.tensors) {
      const TensorShape& shape = shards->shapes[t];
      (*states)[StateName(kind, shards->names[t])] = HostTensor(
          shape, absl::MakeConstSpan(all).subspan(static_cast<size_t>(layout.offsets[t]),
                                                  static_cast<size_t>(shape.byte_size())));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainerPrograms::GatherStates(std::map<std::string, HostTensor>* states) {
  for (const auto& [name, value] : shards->restored) states->insert({name, value});
  if (DividesParameters()) TARTAN_RETURN_IF_ERROR(GatherKind("parameter", states));
  if (apply.program == nullptr) return absl::OkStatus();
  for (const std::string& kind : SlotNames(plan.optimizer))
    TARTAN_RETURN_IF_ERROR(GatherKind(kind, states));
  return absl::OkStatus();
}

absl::Status TrainerPrograms::RestoreShard(const std::string& name, const HostTensor& value) {
  const auto whole = tensors.find(name);
  if (whole != tensors.end()) TARTAN_RETURN_IF_ERROR(whole->second.Assign(value));
  const std::string kind = name.substr(0, name.find('/'));
  // Are there parts on the device, maybe of other ranks?
  const bool has_parts = kind == "parameter" ? !shards->views.empty() : apply.program != nullptr;
  const auto tensor = std::find_if(shards->names.begin(), shards->names.end(),
                                   [&](const auto& n) { return name == StateName(kind, n); });
  if (has_parts && tensor != shards->names.end())
    return AssignSegments(kind, tensor - shards->names.begin(), value);
  if (whole == tensors.end()) shards->restored[name] = value;
  return absl::OkStatus();
}

}  // namespace tartan::train
